import { Button, Group, Text } from '@mantine/core';

import { useCommon } from '../messages/common.js';

// Goes through the pages of a list.
export function Pager({ page, pageSize, total, go }: { page: number; pageSize: number; total: number; go: (page: number) => void }) {
  const t = useCommon();
  if (total === 0) return null;
  const last = Math.max(1, Math.ceil(total / pageSize));
  return (
    <Group justify="space-between" gap="xs">
      <Text size="xs" c="dimmed" role="status">
        {t('shown', { from: (page - 1) * pageSize + 1, to: Math.min(total, page * pageSize), total })}
      </Text>
      {last > 1 && (
        <Group gap="xs">
          <Button size="xs" variant="default" disabled={page <= 1} onClick={() => go(page - 1)}>{t('previousPage')}</Button>
          <Text size="xs">{page} / {last}</Text>
          <Button size="xs" variant="default" disabled={page >= last} onClick={() => go(page + 1)}>{t('nextPage')}</Button>
        </Group>
      )}
    </Group>
  );
}
