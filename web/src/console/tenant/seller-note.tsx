import { Alert, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import { usePayments } from '../messages/payments.js';
import { useSeller } from './seller.js';

const everyMs = 30_000;
const texts = { notBegun: 'noteNotBegun', incomplete: 'noteIncomplete', checking: 'noteChecking', restricted: 'noteRestricted' } as const;

// Says that buyers can't pay, and where to change that.
export function SellerNote({ mb = 'md' }: { mb?: 'md' | 0 }) {
  const t = usePayments();
  const { state } = useSeller(everyMs);
  if (!state || state === 'ready') return null;
  return (
    <Alert variant="outline" color="orange" mb={mb} p="xs" role="status">
      <Group gap="xs" justify="space-between">
        <Text size="sm">{t(texts[state])}</Text><Link className="link" to="/payments">{t('noteLink')}</Link>
      </Group>
    </Alert>
  );
}
