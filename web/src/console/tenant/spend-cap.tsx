import { Button, Group, NumberInput, Text } from '@mantine/core';
import { useState } from 'react';

import type { SpendCap } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { digitsOf, unitsOf } from '../lib/format.js';
import { FormModal, useChange, useConfirm } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { usePlans } from '../messages/plans.js';

const maxCents = 99_999_999;

const put = (capCents: number | null) => unwrap(client.PUT('/v1/me/billing/spend-cap', { body: { capCents } }));

export function SpendCapButtons({ cap }: { cap: SpendCap }) {
  const t = usePlans();
  const confirm = useConfirm();
  const [editing, setEditing] = useState(false);
  const remove = useChange(() => put(null), { done: t('capRemoved') });
  return (
    <Group gap="xs">
      <Button size="xs" variant="default" onClick={() => setEditing(true)}>{t('cap')}</Button>
      {cap.capCents !== null && (
        <Button size="xs" variant="default" loading={remove.isPending} onClick={() => confirm(t('remove'), t('removeText'), () => remove.mutate(undefined))}>{t('remove')}</Button>
      )}
      {editing && <SetCap cap={cap} close={() => setEditing(false)} />}
    </Group>
  );
}

function SetCap({ cap, close }: { cap: SpendCap; close: () => void }) {
  const t = usePlans();
  const common = useCommon();
  const digits = digitsOf(cap.currency);
  const [amount, setAmount] = useState<number | string>(cap.capCents === null ? '' : unitsOf(cap.capCents, cap.currency));
  const save = useChange(() => put(Math.round(Number(amount) * 10 ** digits)), { shows: true, done: t('capSet'), after: close });
  return (
    <FormModal title={t('cap')} open close={close} submit={() => save.mutate(undefined)} busy={save.isPending} error={save.error} action={common('save')}>
      <Text size="sm">{t('capText')}</Text>
      <NumberInput label={t('amount', { currency: cap.currency })} name="amount" required min={0} max={unitsOf(maxCents, cap.currency)} decimalScale={digits} hideControls value={amount}
        error={fieldErrors(save.error).capCents} onChange={setAmount} data-autofocus />
    </FormModal>
  );
}
