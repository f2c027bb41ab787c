import { Alert, Button, MultiSelect, Select, SimpleGrid, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';

import type { Announcement, AnnouncementInput, AnnouncementPatch, AnnouncementSeverity, PlanTier } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { MissingPage } from '../lib/fallbacks.js';
import { Markdown } from '../lib/markdown.js';
import { MomentInput } from '../lib/moment.js';
import { Heading, Section, Waiting, useChange, useConfirm } from '../lib/parts.js';
import { fieldErrors, ProblemNote } from '../lib/problem.js';
import { useAdminSupport } from '../messages/admin-support.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { Tag, useOptions } from './shown.js';
import { plans } from './tenants.js';
import { DraftNote, useDraft, versioned, type Versioned } from './versioned.js';

const load = (id: string) => versioned(client.GET('/v1/admin/announcements/{id}', { params: { path: { id } } }));

export default function AnnouncementPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const may = useMay();
  if (id !== 'new') return <Existing key={id} id={id} />;
  return may('admin:write') ? <NewAnnouncement /> : <MissingPage />;
}

function NewAnnouncement() {
  const t = useAdminSupport();
  const common = useCommon();
  const navigate = useNavigate();
  const [input, setInput] = useState<Required<AnnouncementInput>>({ title: '', body: '', audience: [], severity: 'INFO', sendMail: false,
    expiresAt: null });
  const create = useChange(() => unwrap(client.POST('/v1/admin/announcements', { body: input })), {
    shows: true, done: common('saved'), after: ({ id }) => void navigate({ to: `/announcements/${id}` as never }),
  });
  return (
    <Stack>
      <Heading title={t('newAnnouncement')} />
      <form onSubmit={(event) => { event.preventDefault(); create.mutate(undefined); }}>
        <Editor value={input} set={(next) => setInput((was) => ({ ...was, ...next }))} faults={fieldErrors(create.error)} mail>
          <ProblemNote error={create.error} />
          <Button type="submit" loading={create.isPending} data-testid="submit">{common('create')}</Button>
        </Editor>
      </form>
    </Stack>
  );
}

function Existing({ id }: { id: string }) {
  const query = useQuery({ queryKey: ['admin-announcement', id], queryFn: () => load(id) });
  if (!query.data) return <Waiting query={query} />;
  return <Edit current={query.data} />;
}

function Edit({ current }: { current: Versioned<Announcement> }) {
  const t = useAdminSupport();
  const common = useCommon();
  const word = useWord();
  const may = useMay();
  const { id, title, status, severity } = current.data;
  const draft = useDraft<Announcement, AnnouncementPatch>({
    current,
    load: () => load(id),
    save: (body, etag) => unwrap(client.PATCH('/v1/admin/announcements/{id}',
      { params: { path: { id }, header: { 'If-Match': etag } }, body })),
    fields: (of) => ({
      [t('titleLabel')]: of.title, [t('body')]: of.body, [t('severity')]: word(of.severity), [t('audience')]: of.audience.map(word),
        [t('expires')]: of.expiresAt,
      [common('status')]: word(of.status),
    }),
  });
  const value = { ...draft.seen, ...draft.draft } as Required<AnnouncementInput>;
  const fixed = status === 'ARCHIVED' || !may('admin:write');
  return (
    <Stack>
      <Heading title={title}><Tag of={status} /><Tag of={severity} />{may('admin:write') && <Actions of={current.data}
        unsaved={draft.changed} />}</Heading>
      {status === 'ARCHIVED' && <Alert variant="outline" color="gray">{t('isArchived')}</Alert>}
      {fixed ? <Section title={t('preview')}><Markdown text={value.body} /></Section> : (
        <form onSubmit={(event) => { event.preventDefault(); draft.save(); }}>
          <Editor value={value} set={(next) => draft.set(next)} faults={fieldErrors(draft.error)} mail={status === 'DRAFT'}>
            <DraftNote draft={draft} />
            <Button type="submit" loading={draft.saving} disabled={!draft.changed} data-testid="submit">{common('save')}</Button>
          </Editor>
        </form>
      )}
    </Stack>
  );
}

function Actions({ of: { id, status, sendMail }, unsaved }: { of: Announcement; unsaved: boolean }) {
  const t = useAdminSupport();
  const common = useCommon();
  const confirm = useConfirm();
  const navigate = useNavigate();
  const path = { params: { path: { id } } };
  const publish = useChange(() => unwrap(client.POST('/v1/admin/announcements/{id}/publish', path)), { done: common('done') });
  const end = useChange(() => unwrap(client.DELETE('/v1/admin/announcements/{id}', path)), {
    done: common('done'), after: () => { if (status === 'DRAFT') void navigate({ to: '/announcements' as never }); },
  });
  if (status === 'ARCHIVED') return null;
  const [label, text] = status === 'DRAFT' ? [t('remove'), t('removeText')] : [t('end'), t('endText')];
  return (
    <>
      {status === 'DRAFT' && (
        <Button size="xs" disabled={unsaved} loading={publish.isPending}
          onClick={() => confirm(t('publish'), sendMail ? t('publishMailText') : t('publishText'),
            () => publish.mutate(undefined))}>{t('publish')}</Button>
      )}
      <Button size="xs" color="red.9" loading={end.isPending} onClick={() => confirm(label, text,
        () => end.mutate(undefined))}>{label}</Button>
    </>
  );
}

interface EditorProps {
  value: Required<AnnouncementInput>; set: (next: AnnouncementPatch) => void; faults: Record<string, string>;
  // A published announcement is never mailed again.
  mail: boolean;
  children: React.ReactNode;
}

function Editor({ value, set, faults, mail, children }: EditorProps) {
  const t = useAdminSupport();
  const severities = useOptions(['INFO', 'WARNING', 'CRITICAL']);
  const tiers = useOptions(plans);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Stack gap="sm">
        <TextInput label={t('titleLabel')} name="title" required maxLength={200} value={value.title} error={faults.title}
          onChange={(event) => set({ title: event.currentTarget.value })} />
        <Textarea label={t('body')} description={t('bodyHint')} name="body" required maxLength={20000} autosize minRows={8}
          value={value.body} error={faults.body}
          onChange={(event) => set({ body: event.currentTarget.value })} />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Select label={t('severity')} data={severities} value={value.severity} allowDeselect={false}
            onChange={(next) => set({ severity: next as AnnouncementSeverity })} />
          <MomentInput label={t('expires')} name="expiresAt" value={value.expiresAt} error={faults.expiresAt}
            change={(expiresAt) => set({ expiresAt })} />
        </SimpleGrid>
        <MultiSelect label={t('audience')} description={t('audienceHint')} data={tiers} value={value.audience}
          onChange={(next) => set({ audience: next as PlanTier[] })} />
        {mail && <Switch label={t('sendMail')} checked={value.sendMail}
          onChange={(event) => set({ sendMail: event.currentTarget.checked })} />}
        {children}
      </Stack>
      <Section title={t('preview')}>
        {value.title || value.body ? (
          <Alert variant="outline" color={{ INFO: 'brand', WARNING: 'orange', CRITICAL: 'red' }[value.severity]}><Text fw={700}
            mb={4}>{value.title}</Text><Markdown text={value.body} /></Alert>
        ) : <Text size="sm" c="dimmed">{t('previewEmpty')}</Text>}
      </Section>
    </SimpleGrid>
  );
}
