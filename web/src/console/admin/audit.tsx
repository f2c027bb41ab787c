import { Button, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';

import type { AuditEntry } from '../../gen/api.js';
import { client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { Changes } from '../lib/changes.js';
import { differences } from '../lib/diff.js';
import { time } from '../lib/format.js';
import { Heading } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';

export default function Audit() {
  const t = useAdmin();
  const common = useCommon();
  const word = useWord();
  const [shown, setShown] = useState<AuditEntry | null>(null);
  return (
    <>
      <Heading title={t('audit')} />
      <AdminList name="audit" label={t('audit')} empty={t('noAudit')} get={(query) => client.GET('/v1/admin/audit', { params: { query } })}
        filters={[
          { key: 'action', label: t('action') }, { key: 'actor', label: t('actor') }, { key: 'entity', label: t('entity') }, { key: 'tenantId', label: t('tenantID') },
        ]}
        columns={[
          { key: 'action', title: t('action'), value: ({ action }) => action },
          { key: 'actor', title: t('actor'), value: ({ actorId, actorType }) => `${word(actorType)} ${actorId ?? ''}`, wide: true },
          { key: 'entity', title: t('entity'), value: ({ entityId }) => entityId, wide: true },
          { key: 'reason', title: common('reason'), value: ({ reason }) => reason, wide: true },
          { key: 'at', title: t('at'), value: ({ at }) => at, render: ({ at }) => time(at) },
        ]}
        actions={(row) => <Button size="compact-xs" variant="default" onClick={() => setShown(row)}>{t('changes')}</Button>} />
      <Modal opened={shown !== null} onClose={() => setShown(null)} title={shown?.action} size="lg" closeButtonProps={{ 'aria-label': common('close') }}>
        {shown && <Entry entry={shown} />}
      </Modal>
    </>
  );
}

function Entry({ entry }: { entry: AuditEntry }) {
  const t = useAdmin();
  const common = useCommon();
  const word = useWord();
  const changes = differences(entry.before, entry.after);
  return (
    <Stack gap="xs">
      {[[t('at'), time(entry.at)], [t('actor'), `${word(entry.actorType)} ${entry.actorId ?? ''}`], [t('impersonator'), entry.impersonatorId],
        [t('impersonation'), entry.impersonationId], [t('entity'), `${entry.entity} ${entry.entityId}`],
        [common('reason'), entry.reason], [t('ip'), entry.ip], [t('requestID'), entry.requestId]]
        .map(([label, value]) => value && <Text key={label} size="sm"><b>{label}:</b> {value}</Text>)}
      {changes.length === 0 ? <Text size="sm" c="dimmed">{t('noChanges')}</Text> : <Changes of={changes} />}
    </Stack>
  );
}
