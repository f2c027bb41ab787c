import { Button, NumberInput, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import { client, unwrap } from '../lib/api.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useAdminTenant } from '../messages/admin-tenant.js';
import { useCommon } from '../messages/common.js';

// Extends a trial by some days.
export function TrialButton({ id }: { id: string }) {
  const t = useAdminTenant();
  const common = useCommon();
  const [open, setOpen] = useState(false);
  const [days, setDays] = useState(14);
  const [reason, setReason] = useState('');
  const change = useChange(() => unwrap(client.POST('/v1/admin/subscriptions/{id}/extend-trial', {
    params: { path: { id } }, body: { days, ...(reason && { reason }) },
  })), { shows: true, done: common('done'), after: () => setOpen(false) });
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setOpen(true)}>{t('extendTrial')}</Button>
      <FormModal title={t('extendTrial')} open={open} close={() => setOpen(false)} submit={() => change.mutate(undefined)}
        busy={change.isPending} error={change.error}
        action={t('extendTrial')}>
        <Text size="sm">{t('extendText')}</Text>
        <NumberInput label={t('days')} name="days" min={1} max={90} required allowDecimal={false} value={days}
          error={fieldErrors(change.error).days}
          onChange={(next) => setDays(Number(next))} />
        <TextInput label={t('reasonLog')} name="reason" maxLength={500} value={reason}
          onChange={(event) => setReason(event.currentTarget.value)} />
      </FormModal>
    </>
  );
}
