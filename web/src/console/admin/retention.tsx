import { Button, Switch, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { AdminRecording } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { MomentInput } from '../lib/moment.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useAdminTenant } from '../messages/admin-tenant.js';
import { useCommon } from '../messages/common.js';

// Changes how long a recording is kept.
export function RetentionButton({ recording }: { recording: AdminRecording }) {
  const t = useAdminTenant();
  const common = useCommon();
  const [open, setOpen] = useState(false);
  const [retainUntil, setUntil] = useState(recording.retainUntil);
  const [legalHold, setHold] = useState(recording.legalHold);
  const [reason, setReason] = useState('');
  const change = useChange(() => unwrap(client.PATCH('/v1/admin/recordings/{id}/retention', {
    params: { path: { id: recording.id } },
    body: {
      ...(retainUntil !== recording.retainUntil && { retainUntil }), ...(legalHold !== recording.legalHold && { legalHold }),
        ...(reason && { reason }),
    },
  })), { shows: true, done: common('saved'), after: () => setOpen(false) });
  const show = () => { setUntil(recording.retainUntil); setHold(recording.legalHold); setOpen(true); };
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={show}>{t('retention')}</Button>
      <FormModal title={t('retention')} open={open} close={() => setOpen(false)} submit={() => change.mutate(undefined)}
        busy={change.isPending} error={change.error}
        action={common('save')}>
        <Text size="sm">{t('retentionText')}</Text>
        <MomentInput label={t('retainUntil')} name="retainUntil" value={retainUntil} error={fieldErrors(change.error).retainUntil}
          change={setUntil} />
        <Switch label={t('keepHold')} checked={legalHold} onChange={(event) => setHold(event.currentTarget.checked)} />
        <TextInput label={t('reasonLog')} name="reason" maxLength={500} value={reason}
          onChange={(event) => setReason(event.currentTarget.value)} />
      </FormModal>
    </>
  );
}
