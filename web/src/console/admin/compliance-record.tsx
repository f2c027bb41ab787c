import { Button, Select, SimpleGrid, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';

import type { ComplianceInput, ComplianceRecord, RiskLevel, VerificationStatus } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { time } from '../lib/format.js';
import { MomentInput } from '../lib/moment.js';
import { Heading, Section, Waiting } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useAdminTenant } from '../messages/admin-tenant.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { Tag, useOptions } from './shown.js';
import { DraftNote, useDraft, versioned, type Versioned } from './versioned.js';

const load = (tenantId: string) => versioned(client.GET('/v1/admin/compliance/{tenantId}', { params: { path: { tenantId } } }));

// The part of a record that an admin writes.
function writable(of: ComplianceRecord): ComplianceInput {
  const { country, dataRegion, dpaSignedAt, legalHold, nextReviewAt, notes, riskLevel, termsAcceptedAt, termsVersion, verification } = of;
  return { country, dataRegion, dpaSignedAt, legalHold, nextReviewAt, notes, riskLevel, termsAcceptedAt, termsVersion, verification };
}

export default function ComplianceRecordPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const query = useQuery({ queryKey: ['admin-compliance', id], queryFn: () => load(id) });
  if (!query.data) return <Waiting query={query} />;
  return <Record key={id} current={query.data} />;
}

function Record({ current }: { current: Versioned<ComplianceRecord> }) {
  const t = useAdminTenant();
  const common = useCommon();
  const may = useMay();
  const word = useWord();
  const { tenantId, tenantName, status, reviewedAt } = current.data;
  const draft = useDraft<ComplianceRecord, Partial<ComplianceInput>>({
    current,
    load: () => load(tenantId),
    save: (input, etag, seen) => unwrap(client.PUT('/v1/admin/compliance/{tenantId}', {
      params: { path: { tenantId }, header: { 'If-Match': etag } }, body: { ...writable(seen), ...input },
    })),
    fields: (of) => ({
      [t('legalHold')]: of.legalHold ? t('yes') : t('no'), [t('verification')]: word(of.verification), [t('risk')]: word(of.riskLevel),
      [t('country')]: of.country, [t('region')]: of.dataRegion, [t('dpaSigned')]: time(of.dpaSignedAt),
        [t('nextReview')]: time(of.nextReviewAt),
      [t('termsVersion')]: of.termsVersion, [t('termsAccepted')]: time(of.termsAcceptedAt), [t('notes')]: of.notes,
    }),
  });
  const value = { ...writable(draft.seen), ...draft.draft };
  const faults = fieldErrors(draft.error);
  const risks = useOptions(['LOW', 'MEDIUM', 'HIGH']);
  const states = useOptions(['UNVERIFIED', 'PENDING', 'VERIFIED', 'REJECTED']);
  const text = (field: 'country' | 'dataRegion' | 'termsVersion', label: string, maxLength: number, hint?: string) => (
    <TextInput label={label} description={hint} name={field} maxLength={maxLength} value={value[field] ?? ''} error={faults[field]}
      onChange={(event) => draft.set({ [field]: (field === 'country' ? event.currentTarget.value.toUpperCase() : event.currentTarget.value) || null })} />
  );
  const moment = (field: 'dpaSignedAt' | 'nextReviewAt' | 'termsAcceptedAt', label: string) => (
    <MomentInput label={label} name={field} value={value[field] ?? null} error={faults[field]}
      change={(at) => draft.set({ [field]: at })} />
  );
  return (
    <Stack>
      <Heading title={t('complianceOf', { name: tenantName })}><Tag of={status} /><Link className="link"
        to={`/tenants/${tenantId}` as never}>{t('tenant')}</Link></Heading>
      <Section title={t('compliance')} aside={<Text size="xs" c="dimmed">{t('reviewed')}: {time(reviewedAt)}</Text>}>
        <form onSubmit={(event) => { event.preventDefault(); draft.save(); }}>
          <fieldset className="bare" disabled={!may('admin:write')} aria-label={t('compliance')}>
            <Switch label={t('legalHold')} description={t('legalHoldText')} name="legalHold" checked={value.legalHold}
              onChange={(event) => draft.set({ legalHold: event.currentTarget.checked })} />
            <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} className="level">
              <Select label={t('verification')} data={states} value={value.verification} allowDeselect={false}
                onChange={(next) => draft.set({ verification: next as VerificationStatus })} />
              <Select label={t('risk')} data={risks} value={value.riskLevel} allowDeselect={false}
                onChange={(next) => draft.set({ riskLevel: next as RiskLevel })} />
              {moment('nextReviewAt', t('nextReview'))}
              {text('country', t('country'), 2, t('countryHint'))}
              {text('dataRegion', t('region'), 40)}
              {moment('dpaSignedAt', t('dpaSigned'))}
              {text('termsVersion', t('termsVersion'), 40)}
              {moment('termsAcceptedAt', t('termsAccepted'))}
            </SimpleGrid>
            <Textarea label={t('notes')} name="notes" maxLength={5000} autosize minRows={3} value={value.notes ?? ''}
              onChange={(event) => draft.set({ notes: event.currentTarget.value || null })} />
            <TextInput label={t('reasonLog')} name="reason" maxLength={500} value={value.reason ?? ''}
              onChange={(event) => draft.set({ reason: event.currentTarget.value })} />
            <DraftNote draft={draft} />
            {may('admin:write') && <Button type="submit" w="fit-content" loading={draft.saving} disabled={!draft.changed}
              data-testid="submit">{common('save')}</Button>}
          </fieldset>
        </form>
      </Section>
    </Stack>
  );
}
