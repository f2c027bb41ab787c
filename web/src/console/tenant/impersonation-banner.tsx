import { Alert, Button, Group, Text } from '@mantine/core';
import { useEffect, useState } from 'react';

import type { ImpersonationState } from '../../gen/api.js';
import { endImpersonation, revokeImpersonation } from '../lib/impersonation.js';
import { useImpersonation } from '../messages/impersonation.js';
import { useIdentity } from './identity.js';

// Says on each page that an admin acts for the tenant, and for how long.
export default function ImpersonationBanner({ state: { impersonatorId, impersonatorEmail, expiresAt, readOnly } }: { state: ImpersonationState }) {
  const t = useImpersonation();
  const { user, tenant } = useIdentity();
  const [now, setNow] = useState(Date.now);
  const leftMs = Date.parse(expiresAt) - now;
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5000);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => { if (leftMs <= 0) endImpersonation(); }, [leftMs]);
  return (
    <Alert variant="outline" color="orange" mb="md" role="region" aria-label={t('banner', { name: user?.name ?? tenant.name })}>
      <Group justify="space-between" gap="xs">
        <div>
          <Text size="sm" fw={600}>{t('banner', { name: user?.name ?? tenant.name })} · {t('left', { minutes: Math.max(0, Math.ceil(leftMs / 60_000)) })}</Text>
          <Text size="xs">{t(readOnly ? 'readOnly' : 'limits')} {t('admin')}: <span title={impersonatorId}>{impersonatorEmail || impersonatorId}</span></Text>
          <Text size="xs" id="end-impersonation">{t('endText')}</Text>
        </div>
        <Button size="xs" variant="default" onClick={revokeImpersonation} data-testid="end-impersonation" aria-describedby="end-impersonation">{t('end')}</Button>
      </Group>
    </Alert>
  );
}
