import { Badge, Button, Group, Text } from '@mantine/core';

import type { SignIn } from '../../gen/api.js';
import { useSecurity } from '../messages/security.js';
import { browserName } from './browser-name.js';
import { time } from './format.js';
import { Empty, Section, useChange, useConfirm } from './parts.js';
import { DataList } from './table.js';

export interface LoginsProps {
  list: { data?: SignIn[]; error: unknown; isFetching: boolean; refetch: () => unknown };
  // Undefined if it isn't offered.
  end?: (id: string) => Promise<unknown>;
  endOthers?: () => Promise<unknown>;
}

// The browsers in which a user or an admin is signed in.
export function Logins({ list, end, endOthers }: LoginsProps) {
  const t = useSecurity();
  const confirm = useConfirm();
  const ending = useChange(async (id: string) => end?.(id), { done: t('ended') });
  const endingOthers = useChange(async () => endOthers?.(), { done: t('endedOthers') });
  const others = (list.data?.length ?? 0) > 1;
  return (
    <Section title={t('logins')} aside={others && endOthers && (
      <Button size="xs" variant="default" loading={endingOthers.isPending}
        onClick={() => confirm(t('endOthers'), t('endOthersText'), () => endingOthers.mutate(undefined))}>{t('endOthers')}</Button>
    )}>
      <DataList<SignIn> name="logins" label={t('logins')} rows={list.data} error={list.error} retry={() => void list.refetch()} fetching={list.isFetching}
        empty={<Empty text={t('noLogins')} />}
        columns={[
          { key: 'browser', title: t('browser'), value: ({ userAgent }) => browserName(userAgent ?? ''), render: ({ userAgent, current }) => (
            <Group gap="xs"><Text size="sm" title={userAgent ?? ''}>{browserName(userAgent ?? '')}</Text>
              {current && <Badge variant="outline" size="sm" miw="max-content" tt="none">{t('thisOne')}</Badge>}</Group>
          ) },
          { key: 'ip', title: t('ip'), value: ({ ip }) => ip, wide: true },
          { key: 'created', title: t('since'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt), wide: true },
          { key: 'seen', title: t('lastSeen'), value: ({ lastSeenAt }) => lastSeenAt, render: ({ lastSeenAt }) => time(lastSeenAt), wide: true },
        ]}
        actions={end ? ({ id, current }) => (
          <Button size="compact-xs" variant="default"
            onClick={() => confirm(t('end'), current ? t('endThis') : t('endText'), () => ending.mutate(id))}>{t('end')}</Button>
        ) : undefined} />
    </Section>
  );
}
