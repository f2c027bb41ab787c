import { Stack, Text, Title } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';

import { useCommon } from '../messages/common.js';

export function MissingPage() {
  const t = useCommon();
  return <Stack gap="xs"><Title order={1} size="h3">{t('notFound')}</Title><Text>{t('notFoundText')}</Text></Stack>;
}

export function CrashNote({ error }: ErrorComponentProps) {
  const t = useCommon();
  return (
    <Stack gap="xs" role="alert">
      <Title order={1} size="h3">{t('crashed')}</Title><Text>{t('crashedText')}</Text><Text ff="monospace" size="sm">{error instanceof Error ? error.message : String(error)}</Text>
    </Stack>
  );
}
