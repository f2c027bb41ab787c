import { Button, Modal, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { Order } from '../../gen/api.js';
import { centsText, newActionKey, parseCents } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { money } from '../lib/format.js';
import { useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useSelling } from '../messages/selling.js';

// The cents that are neither refunded nor in a refund that is in progress.
function refundable(order: Order): number {
  if (!['PAID', 'FULFILLED', 'PARTIALLY_REFUNDED', 'REVIEW'].includes(order.status) || !order.paidAt) return 0;
  const pending = order.refunds.filter(({ status }) => status === 'PENDING').reduce((sum, { amountCents }) => sum + amountCents, 0);
  return (order.paymentMismatch?.paidTotalCents ?? order.totalCents) - order.refundedCents - pending;
}

// Opens the form of a refund. The form says the amount, in its text and on its button.
export function RefundButton({ order }: { order: Order }) {
  const t = useSelling();
  const [open, setOpen] = useState(false);
  const left = refundable(order);
  if (left <= 0 && !open) return null;
  return (
    <>
      <Button size="xs" color="red.9" onClick={() => setOpen(true)}>{t('refund')}</Button>
      {open && <RefundForm order={order} left={left} close={() => setOpen(false)} />}
    </>
  );
}

function RefundForm({ order, left, close }: { order: Order; left: number; close: () => void }) {
  const t = useSelling();
  const common = useCommon();
  const currency = order.paymentMismatch?.paidCurrency ?? order.currency;
  const [text, setText] = useState(centsText(left, currency));
  const [reason, setReason] = useState('');
  // A repeated request with the same amount is one refund.
  const [key, setKey] = useState(newActionKey);
  const typed = parseCents(text, currency);
  const cents = typed !== null && typed > 0 && typed <= left ? typed : null;
  const refund = useChange((amountCents: number) => unwrap(client.POST('/v1/me/commerce/orders/{id}/refund', {
    params: { path: { id: order.id }, header: { 'Idempotency-Key': key } }, body: { amountCents, ...(reason && { reason }) },
  })), { shows: true, done: t('refundDone'), after: close });
  const amount = money(cents ?? 0, currency);
  return (
    <Modal opened onClose={close} title={t('refund')} closeButtonProps={{ 'aria-label': common('close') }}>
      <form onSubmit={(event) => { event.preventDefault(); if (cents !== null) refund.mutate(cents); }}>
        <Stack>
          <TextInput label={t('refundPart')} description={t('left', { amount: money(left, currency) })} name="amount" required inputMode="decimal" value={text}
            rightSection={currency.toUpperCase()} rightSectionWidth={48} data-autofocus error={cents === null && t('badAmount', { least: centsText(1, currency), amount: money(left, currency) })}
            onChange={(event) => { setText(event.currentTarget.value); setKey(newActionKey()); }} />
          <Textarea label={t('optionalReason')} name="reason" maxLength={500} value={reason}
            onChange={(event) => { setReason(event.currentTarget.value); setKey(newActionKey()); }} />
          {cents !== null && <Text size="sm">{t('refundText', { amount })}</Text>}
          <ProblemNote error={refund.error} />
          <Button type="submit" color="red.9" disabled={cents === null} loading={refund.isPending} data-testid="confirm">{t('refundAmount', { amount })}</Button>
        </Stack>
      </form>
    </Modal>
  );
}
