import { Group, Select, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import type { AuctionInput, Product } from '../../gen/api.js';
import { centsText, exampleAmount, newActionKey, parseCents, parseWhole } from '../lib/amount.js';
import { asProblem, client, unwrap } from '../lib/api.js';
import { time } from '../lib/format.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { problemText } from '../lib/problem-text.js';
import { useAuctions } from '../messages/auctions.js';
import { useNow } from './auction-state.js';
import { ProductPicker, StreamPicker } from './pickers.js';

const units = { minutes: 60, hours: 3600, unitDays: 86_400 } as const;
type Unit = keyof typeof units;
const longestS = 604_800;
const longestSnipeS = 3600;
const defaultCurrency = 'usd';

type Texts = Record<'startingBidCents' | 'bidIncrementCents' | 'reservePriceCents' | 'durationSec' | 'antiSnipeSec', string>;
type Faults = Partial<Record<keyof AuctionInput, string>>;

const none: Texts = { startingBidCents: '', bidIncrementCents: '', reservePriceCents: '', durationSec: '10', antiSnipeSec: '10' };

// The server names the product or stream that it refuses in its message only.
function refusedFields(error: unknown): Faults {
  const problem = asProblem(error);
  const { text, detail } = problemText(problem);
  const says = detail || text;
  if (problem.code === 'insufficient_stock' || problem.code === 'conflict') return { productId: says };
  if (problem.code === 'not_found') return problem.message.startsWith('stream') ? { streamId: says } : { productId: says };
  return fieldErrors(error);
}

// The form of an auction, which starts at once.
export function NewAuction({ close }: { close: () => void }) {
  const t = useAuctions();
  const navigate = useNavigate();
  const now = useNow();
  const [product, setProduct] = useState<Product | null>(null);
  const [streamId, setStream] = useState<string | null>(null);
  const [texts, setTexts] = useState(none);
  const [unit, setUnit] = useState<Unit>('minutes');
  const [wrong, setWrong] = useState<Faults>({});
  // A repeated request with the same input starts one auction.
  const [key, setKey] = useState(newActionKey);
  const start = useChange((body: AuctionInput) => unwrap(client.POST('/v1/me/commerce/auctions', {
    params: { header: { 'Idempotency-Key': key } }, body,
  })), {
    shows: true, done: t('started'), after: ({ id }) => { close(); void navigate({ to: '/auctions/$id', params: { id } as never }); },
  });
  const changed = (field: keyof AuctionInput) => {
    setKey(newActionKey());
    if (start.error) start.reset(); // the refusal was about the former input
    setWrong(({ [field]: _, ...others }) => others);
  };
  const faults: Faults = { ...(start.error ? refusedFields(start.error) : {}), ...wrong };
  const currency = product?.currency ?? defaultCurrency;
  const field = (name: keyof Texts) => ({
    name, value: texts[name], error: faults[name],
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => {
      setTexts((was) => ({ ...was, [name]: value }));
      changed(name);
    },
  });
  const amount = (name: keyof Texts) => ({
    ...field(name), inputMode: 'decimal' as const, rightSectionWidth: 48,
    rightSection: product && <Text size="xs">{currency.toUpperCase()}</Text>,
  });
  const count = parseWhole(texts.durationSec);
  const durationSec = count === null ? null : count * units[unit];
  const lasts = durationSec !== null && durationSec > 0 && durationSec <= longestS ? durationSec : null;
  const submit = () => {
    const [starting, step] = [parseCents(texts.startingBidCents, currency), parseCents(texts.bidIncrementCents, currency)];
    const snipe = parseWhole(texts.antiSnipeSec);
    const reserved = texts.reservePriceCents.trim() !== '';
    const reserve = reserved ? parseCents(texts.reservePriceCents, currency) : null;
    const badMoney = t('badMoney', exampleAmount(currency));
    const found: Faults = {
      ...(!product && { productId: t('chooseProduct') }), ...(!streamId && { streamId: t('chooseStream') }),
      ...(starting === null && { startingBidCents: badMoney }), ...(reserved && reserve === null && { reservePriceCents: badMoney }),
      ...(!step && { bidIncrementCents: step === 0 ? t('badStep', { least: centsText(1, currency) }) : badMoney }),
      ...(lasts === null && { durationSec: t('badDuration') }),
      ...((snipe === null || snipe > longestSnipeS) && { antiSnipeSec: t('badSnipe') }),
    };
    setWrong(found);
    if (Object.keys(found).length > 0 || !product || !streamId || starting === null || !step || lasts === null || snipe === null) return;
    start.mutate({
      productId: product.id, streamId, startingBidCents: starting, bidIncrementCents: step, reservePriceCents: reserve,
      durationSec: lasts, antiSnipeSec: snipe,
    });
  };
  return (
    <FormModal title={t('newAuction')} open close={close} submit={submit} busy={start.isPending} error={start.error} action={t('start')}>
      <ProductPicker chosen={product} error={faults.productId} choose={(next) => { setProduct(next); changed('productId'); }} />
      <StreamPicker chosen={streamId} error={faults.streamId} choose={(next) => { setStream(next); changed('streamId'); }} />
      <Group grow align="start">
        <TextInput label={t('startingBid')} required {...amount('startingBidCents')} />
        <TextInput label={t('increment')} required {...amount('bidIncrementCents')} />
      </Group>
      <TextInput label={t('reserve')} description={t('reserveHint')} {...amount('reservePriceCents')} />
      <Group grow align="start">
        <TextInput label={t('duration')} required inputMode="numeric" {...field('durationSec')} />
        <Select label={t('unit')} value={unit} allowDeselect={false}
          data={Object.keys(units).map((value) => ({ value, label: t(value as Unit) }))}
          onChange={(next) => { setUnit(next as Unit); changed('durationSec'); }} />
      </Group>
      <TextInput label={t('snipe')} description={t('snipeHint')} required inputMode="numeric" {...field('antiSnipeSec')} />
      {lasts !== null && <Text size="sm">{t('startsNow', { time: time(new Date(now + lasts * 1000).toISOString()) })}</Text>}
    </FormModal>
  );
}
