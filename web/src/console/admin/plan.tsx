import { Alert, Button, Fieldset, NumberInput, Select, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';

import type { AdminPlan, UsageMeter } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { amountText, countsBytes, digitsOf, money, number, time } from '../lib/format.js';
import { currentLanguage } from '../lib/i18n.js';
import { meters } from '../lib/meters.js';
import { Heading, Section, Waiting } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useAdminPlan } from '../messages/admin-plan.js';
import { useAdminTenant } from '../messages/admin-tenant.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { useStates } from '../messages/states.js';
import { useMay } from './gate.js';
import { amountIn, faultsOf, limits, overages, patchOf, unitOf, valuesOf, type PlanValues } from './plan-fields.js';
import { Facts, Tag } from './shown.js';
import { DraftNote, useDraft, versioned, type Versioned } from './versioned.js';

const load = (id: string) => versioned(client.GET('/v1/admin/plans/{id}', { params: { path: { id } } }));

export default function PlanPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const query = useQuery({ queryKey: ['admin-plan', id], queryFn: () => load(id) });
  if (!query.data) return <Waiting query={query} />;
  return <Plan key={id} current={query.data} />;
}

// Returns the fields of a plan in words, for the list of changes after a conflict.
function useFields() {
  const t = useAdminPlan();
  const word = useWord();
  const common = useCommon();
  const states = useStates();
  return (of: AdminPlan) => {
    const currency = of.currency.toUpperCase();
    const terms = (meter: UsageMeter) => {
      const one = of.allowances.find((allowance) => allowance.meter === meter);
      if (!one) return t('unlimited');
      const overage = one.overage === 'CHARGE'
        ? t('charge', { price: money(one.overagePriceCents, currency), units: amountText(meter, one.overageUnits) }) : t(one.overage ?? 'ALLOW');
      return t('terms', { included: amountText(meter, one.included), overage });
    };
    return Object.fromEntries([
      [common('name'), of.name], [t('description'), of.description], [t('priceCents', { currency }), money(of.priceCents, currency)],
      [t('yearlyPriceCents', { currency }), of.yearlyPriceCents === null ? t('noYear') : money(of.yearlyPriceCents, currency)],
      [t('trialDays'), number(of.trialDays)], [common('status'), word(of.active ? 'ACTIVE' : 'INACTIVE')],
      ...limits.map(({ key, unit }) => {
        const n = of.limits[key];
        return [t(key), n == null ? t('noLimit') : number(amountIn(n, unit))];
      }),
      ...meters.map((meter) => [states(meter), terms(meter)]),
    ]) as Record<string, string>;
  };
}

function Plan({ current }: { current: Versioned<AdminPlan> }) {
  const t = useAdminPlan();
  const admin = useAdmin();
  const tenant = useAdminTenant();
  const common = useCommon();
  const word = useWord();
  const may = useMay();
  const fields = useFields();
  const [sent, setSent] = useState<UsageMeter[]>([]);
  const { id } = current.data;
  const draft = useDraft<AdminPlan, PlanValues>({
    current,
    load: () => load(id),
    save: (typed, etag, seen) => {
      const body = patchOf(typed, seen);
      setSent(body.allowances?.map(({ meter }) => meter) ?? []);
      return unwrap(client.PATCH('/v1/admin/plans/{id}', { params: { path: { id }, header: { 'If-Match': etag } }, body }));
    },
    fields,
  });
  const { tier, active, subscriberCount, processorProductId, updatedAt } = current.data;
  const currency = draft.seen.currency.toUpperCase();
  const values = { ...valuesOf(draft.seen), ...draft.draft };
  const faults = faultsOf(draft.error, sent);
  const inputs: Inputs = { values, faults, currency, set: draft.set };
  return (
    <Stack>
      <Heading title={current.data.name}><Tag of={active ? 'ACTIVE' : 'INACTIVE'} /></Heading>
      <Text size="sm" c="dimmed">
        {[
          `${t('tier')}: ${word(tier)}`, `${admin('subscribers')}: ${number(subscriberCount)}`, `${t('product')}: ${processorProductId ?? '–'}`,
          `${t('changed')}: ${time(updatedAt)}`,
        ].join(' · ')}
      </Text>
      {may('admin:billing') ? (
        <form onSubmit={(event) => { event.preventDefault(); draft.save(); }}>
          <fieldset className="bare" aria-label={current.data.name}>
            <Offer {...inputs} />
            <Limits {...inputs} />
            <Allowances {...inputs} />
            <TextInput label={tenant('reasonLog')} name="reason" maxLength={500} value={values.reason ?? ''} error={faults.reason}
              onChange={(event) => draft.set({ reason: event.currentTarget.value })} />
            <DraftNote draft={draft} />
            <Button type="submit" w="fit-content" loading={draft.saving} data-testid="submit"
              disabled={Object.keys(draft.draft).every((name) => name === 'reason')}>{common('save')}</Button>
          </fieldset>
        </form>
      ) : (
        <>
          <Alert variant="outline" color="gray">{t('readOnly')}</Alert>
          <Facts of={Object.entries(fields(current.data))} />
        </>
      )}
    </Stack>
  );
}

interface Inputs { values: PlanValues; faults: Record<string, string>; currency: string; set: (next: PlanValues) => void }

interface AmountProps extends Inputs { name: string; label: string; decimals?: number; required?: boolean; placeholder?: string; hint?: string }

// A number of at least 0. The server checks its bounds, because it names the fault at the field.
function Amount({ values, faults, set, name, label, decimals = 0, required = false, placeholder, hint }: AmountProps) {
  const german = currentLanguage() === 'de';
  return (
    <NumberInput label={label} name={name} description={hint} required={required} placeholder={placeholder} hideControls allowNegative={false}
      allowDecimal={decimals > 0} decimalScale={decimals} thousandSeparator={german ? '.' : ','} decimalSeparator={german ? ',' : '.'}
      allowedDecimalSeparators={german ? [','] : ['.']} value={values[name] ?? ''} error={faults[name]} onChange={(next) => {
        if (next !== values[name]) set({ [name]: next });
      }} />
  );
}

function Offer(inputs: Inputs) {
  const t = useAdminPlan();
  const common = useCommon();
  const { values, faults, currency, set } = inputs;
  const decimals = digitsOf(currency);
  return (
    <Section title={t('offer')}>
      <Stack gap="sm">
        <Text size="sm">{t('offerText')}</Text>
        <TextInput label={common('name')} name="name" required maxLength={60} value={values.name} error={faults.name}
          onChange={(event) => set({ name: event.currentTarget.value })} />
        <Textarea label={t('description')} name="description" maxLength={500} autosize minRows={2} value={values.description}
          error={faults.description} onChange={(event) => set({ description: event.currentTarget.value })} />
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
          <Amount {...inputs} name="priceCents" label={t('priceCents', { currency })} decimals={decimals} required />
          <Amount {...inputs} name="yearlyPriceCents" label={t('yearlyPriceCents', { currency })} decimals={decimals} placeholder={t('noYear')} />
          <Amount {...inputs} name="trialDays" label={t('trialDays')} required />
        </SimpleGrid>
      </Stack>
    </Section>
  );
}

function Limits(inputs: Inputs) {
  const t = useAdminPlan();
  return (
    <Section title={t('limits')}>
      <Text size="sm" mb="sm">{t('limitsText')}</Text>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} className="level">
        {limits.map(({ key, unit, least }) => <Amount key={key} {...inputs} name={`limits.${key}`} label={t(key)} decimals={unit === 1 ? 0 : 6}
          placeholder={t('noLimit')} hint={least ? t('atLeast', { n: number(least) }) : undefined} />)}
      </SimpleGrid>
    </Section>
  );
}

function Allowances(inputs: Inputs) {
  const t = useAdminPlan();
  return (
    <Section title={t('allowances')}>
      <Stack gap="sm">
        <Text size="sm">{t('allowancesText')}</Text>
        {meters.map((meter) => <Allowance key={meter} {...inputs} meter={meter} />)}
      </Stack>
    </Section>
  );
}

function Allowance({ meter, ...inputs }: Inputs & { meter: UsageMeter }) {
  const t = useAdminPlan();
  const states = useStates();
  const { values, faults, currency, set } = inputs;
  const unit = t(countsBytes(meter) ? 'BYTES' : meter === 'PUSHES' ? 'PUSHES' : 'MINUTES');
  const decimals = unitOf(meter) === 1 ? 0 : 9;
  const overage = `${meter}.overage`;
  const included = values[`${meter}.included`] !== '';
  return (
    <Fieldset legend={states(meter)}>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }}>
        <Amount {...inputs} name={`${meter}.included`} label={t('included', { unit })} decimals={decimals} placeholder={t('unlimited')} />
        {included && <Select label={t('overage')} data={overages.map((value) => ({ value, label: t(value) }))} value={String(values[overage])}
          allowDeselect={false} error={faults[overage]} onChange={(next) => set({ [overage]: next ?? 'ALLOW' })} />}
        {included && values[overage] === 'CHARGE' && (
          <>
            <Amount {...inputs} name={`${meter}.overagePriceCents`} label={t('overagePriceCents', { currency })} decimals={digitsOf(currency)} />
            <Amount {...inputs} name={`${meter}.overageUnits`} label={t('overageUnits', { unit })} decimals={decimals} />
          </>
        )}
      </SimpleGrid>
    </Fieldset>
  );
}
