import { Button, Group, Select, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { Discount, DiscountInput } from '../../gen/api.js';
import { centsText, exampleAmount, parseCents } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { number, percent, time } from '../lib/format.js';
import { MomentInput } from '../lib/moment.js';
import { Empty, FormModal, Heading, Status, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useSelling } from '../messages/selling.js';
import { useMay } from './identity.js';

function stateOf({ active, startsAt, endsAt, maxRedemptions, redemptions }: Discount): 'stateOn' | 'stateOff' | 'stateOver' | 'stateSoon' {
  const now = Date.now();
  if (!active) return 'stateOff';
  if ((endsAt && Date.parse(endsAt) <= now) || (maxRedemptions !== null && redemptions >= maxRedemptions)) return 'stateOver';
  return startsAt && Date.parse(startsAt) > now ? 'stateSoon' : 'stateOn';
}

// The amount has no currency: it is taken off in the smallest unit of the cart's. It is shown as in a currency with cents.
const shownAs = 'usd';
const offOf = ({ percentOff, amountOffCents }: Discount) => (percentOff !== null ? percent(percentOff / 100) : centsText(amountOffCents, shownAs));

export default function Discounts() {
  const t = useSelling();
  const may = useMay();
  const [creating, setCreating] = useState(false);
  const list = useCursorList<Discount>(['discounts'], (query, signal) => client.GET('/v1/me/commerce/discounts', { params: { query }, signal }));
  return (
    <>
      <Heading title={t('discounts')}>
        {may('commerce:write') && <Button size="xs" onClick={() => setCreating(true)}>{t('newDiscount')}</Button>}
      </Heading>
      <CursorList<Discount> name="discounts" label={t('discounts')} list={list}
        empty={<Empty text={t('noDiscounts')} />}
        columns={[
          { key: 'code', title: t('code'), value: ({ code }) => code },
          { key: 'off', title: t('off'), value: offOf },
          { key: 'state', title: t('state'), value: (discount) => t(stateOf(discount)), render: (discount) => (
            <Status of={stateOf(discount) === 'stateOn' ? 'ACTIVE' : 'OFF'} label={t(stateOf(discount))} />
          ) },
          { key: 'redemptions', title: t('redemptions'), value: ({ redemptions }) => redemptions,
            render: ({ redemptions, maxRedemptions }) => (maxRedemptions === null ? number(redemptions) : `${number(redemptions)} / ${number(maxRedemptions)}`) },
          { key: 'starts', title: t('startsAt'), value: ({ startsAt }) => startsAt, render: ({ startsAt }) => time(startsAt), wide: true },
          { key: 'ends', title: t('endsAt'), value: ({ endsAt }) => endsAt, render: ({ endsAt }) => (endsAt ? time(endsAt) : t('endless')), wide: true },
        ]} />
      {creating && <NewDiscount close={() => setCreating(false)} />}
    </>
  );
}

const whole = (text: string) => (text.trim() ? Number(text) : null);

function NewDiscount({ close }: { close: () => void }) {
  const t = useSelling();
  const common = useCommon();
  const [kind, setKind] = useState<'percent' | 'amount'>('percent');
  const [fields, setFields] = useState({ code: '', off: '', maxRedemptions: '', maxPerCustomer: '' });
  const [startsAt, setStart] = useState<string | null>(null);
  const [endsAt, setEnd] = useState<string | null>(null);
  const create = useChange((body: DiscountInput) => unwrap(client.POST('/v1/me/commerce/discounts', { body })), {
    shows: true, done: common('saved'), after: close,
  });
  const faults = fieldErrors(create.error);
  const cents = parseCents(fields.off, shownAs);
  const badOff = kind === 'amount' && fields.off !== '' && !cents ? t('badPrice', exampleAmount(shownAs)) : undefined;
  const field = (name: keyof typeof fields) => ({
    name, value: fields[name], error: faults[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setFields((was) => ({ ...was, [name]: value }));
    },
  });
  const submit = () => {
    if (badOff) return;
    create.mutate({
      code: fields.code.trim(), ...(kind === 'percent' ? { percentOff: whole(fields.off) } : { amountOffCents: cents }),
      maxRedemptions: whole(fields.maxRedemptions), maxPerCustomer: whole(fields.maxPerCustomer), startsAt, endsAt,
    });
  };
  return (
    <FormModal title={t('newDiscount')} open close={close} submit={submit} busy={create.isPending} error={create.error} action={common('create')}>
      <TextInput label={t('code')} required data-autofocus {...field('code')} />
      <Group grow align="start">
        <Select label={t('kind')} value={kind} allowDeselect={false} onChange={(next) => setKind(next as typeof kind)}
          data={[{ value: 'percent', label: t('percent') }, { value: 'amount', label: t('amount') }]} />
        <TextInput label={t('off')} description={kind === 'amount' ? t('amountHint') : undefined} required inputMode="decimal" {...field('off')} {...(kind === 'percent' && { type: 'number', min: 1, max: 100 })}
          error={badOff ?? faults.percentOff ?? faults.amountOffCents} />
      </Group>
      <Group grow align="start">
        <TextInput label={t('maxRedemptions')} description={t('noLimit')} type="number" min={1} {...field('maxRedemptions')} />
        <TextInput label={t('maxPerCustomer')} description={t('noLimit')} type="number" min={1} {...field('maxPerCustomer')} />
      </Group>
      <Group grow align="start">
        <MomentInput label={t('startsAt')} name="startsAt" value={startsAt} error={faults.startsAt} change={setStart} />
        <MomentInput label={t('endsAt')} name="endsAt" value={endsAt} error={faults.endsAt} change={setEnd} />
      </Group>
    </FormModal>
  );
}
