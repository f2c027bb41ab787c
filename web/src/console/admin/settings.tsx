import { Button, Card, Code, Group, Modal, NumberInput, Stack, Switch, TagsInput, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import type { PlatformSetting } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { number, time } from '../lib/format.js';
import { Heading, Waiting } from '../lib/parts.js';
import { useAdminSystem } from '../messages/admin-system.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { DraftNote, useDraft, versioned, type Versioned } from './versioned.js';

type List = 'platform' | 'system';

const load = (list: List, key: string) => versioned(list === 'platform'
  ? client.GET('/v1/admin/settings/{key}', { params: { path: { key } } })
  : client.GET('/v1/admin/system/settings/{key}', { params: { path: { key } } }));

export default function Settings() {
  const t = useAdminSystem();
  const platform = api.useQuery('get', '/v1/admin/settings');
  const system = api.useQuery('get', '/v1/admin/system/settings');
  const [open, setOpen] = useState<{ list: List; key: string } | null>(null);
  const common = useCommon();
  return (
    <Stack>
      <Heading title={t('settings')} />
      {([['platform', platform], ['system', system]] as const).map(([list, query]) => (
        <Stack key={list} gap="sm">
          <Title order={2} size="h4">{t(list)}</Title>
          {query.data ? query.data.items.map((setting) => (
            <Setting key={setting.key} of={setting} change={() => setOpen({ list, key: setting.key })} />
          )) : <Waiting query={query} />}
        </Stack>
      ))}
      <Modal opened={open !== null} onClose={() => setOpen(null)} title={open?.key} size="lg"
        closeButtonProps={{ 'aria-label': common('close') }}>
        {open && <Loaded key={open.key} list={open.list} name={open.key} close={() => setOpen(null)} />}
      </Modal>
    </Stack>
  );
}

// A value in words.
function useShown() {
  const t = useAdminSystem();
  return (value: unknown): string => {
    if (typeof value === 'boolean') return value ? t('on') : t('off');
    if (typeof value === 'number') return number(value);
    if (Array.isArray(value)) return value.length === 0 ? t('none') : value.join(', ');
    return value === '' ? t('none') : typeof value === 'string' ? value : JSON.stringify(value);
  };
}

function Setting({ of: { key, description, value, defaultValue, updatedAt }, change }: { of: PlatformSetting; change: () => void }) {
  const t = useAdminSystem();
  const may = useMay();
  const shown = useShown();
  return (
    <Card withBorder data-setting={key}>
      <Group justify="space-between" align="start" wrap="nowrap">
        <Stack gap={4} miw={0}>
          <Group gap="xs"><Code>{key}</Code><Text fw={700}>{shown(value)}</Text></Group>
          <Text size="sm" lang="en">{description}</Text>
          <Text size="xs" c="dimmed">{t('default', { value: shown(defaultValue) })}{updatedAt
            ? ` · ${t('changedBy', { time: time(updatedAt) })}` : ''}</Text>
        </Stack>
        {may('admin:write') && <Button size="xs" variant="default" onClick={change} aria-label={`${t('change')} ${key}`}
          flex="none">{t('change')}</Button>}
      </Group>
    </Card>
  );
}

function Loaded({ list, name, close }: { list: List; name: string; close: () => void }) {
  // The state that the form begins with; the form itself finds out about later changes when it saves.
  const query = useQuery({ queryKey: ['admin-setting', list, name], queryFn: () => load(list, name), staleTime: 0, gcTime: 0 });
  if (!query.data) return <Waiting query={query} height={150} />;
  return <Form list={list} current={query.data} close={close} />;
}

interface SettingDraft { value?: unknown; reason?: string }

function Form({ list, current, close }: { list: List; current: Versioned<PlatformSetting>; close: () => void }) {
  const t = useAdminSystem();
  const common = useCommon();
  const shown = useShown();
  const { key } = current.data;
  const draft = useDraft<PlatformSetting, SettingDraft>({
    current,
    load: () => load(list, key),
    save: ({ reason, ...input }, etag, seen) => {
      const request = {
        params: { path: { key }, header: { 'If-Match': etag } },
        body: { value: ('value' in input ? input.value : seen.value) as never, ...(reason && { reason }) },
      };
      return list === 'platform' ? unwrap(client.PUT('/v1/admin/settings/{key}', request))
        : unwrap(client.PUT('/v1/admin/system/settings/{key}', request));
    },
    fields: ({ value }) => ({ [t('value')]: shown(value) }),
    after: close,
  });
  const value: unknown = 'value' in draft.draft ? draft.draft.value : draft.seen.value;
  return (
    <form onSubmit={(event) => { event.preventDefault(); draft.save(); }}>
      <Stack gap="sm">
        <Text size="sm" lang="en">{draft.seen.description}</Text>
        <ValueInput label={t('value')} value={value} set={(next) => draft.set({ value: next })} />
        <Group gap="xs">
          <Text size="xs" c="dimmed">{t('default', { value: shown(draft.seen.defaultValue) })}</Text>
          <Button size="compact-xs" variant="default"
            onClick={() => draft.set({ value: draft.seen.defaultValue })}>{t('resetDefault')}</Button>
        </Group>
        <TextInput label={t('reasonLog')} name="reason" maxLength={500} value={draft.draft.reason ?? ''}
          onChange={(event) => draft.set({ reason: event.currentTarget.value })} />
        <Text size="xs" c="dimmed">{t('effect')}</Text>
        <DraftNote draft={draft} />
        <Button type="submit" loading={draft.saving} disabled={!('value' in draft.draft)} data-testid="submit">{common('save')}</Button>
      </Stack>
    </form>
  );
}

// The input for the type of a setting's value.
function ValueInput({ label, value, set }: { label: string; value: unknown; set: (value: unknown) => void }) {
  if (typeof value === 'boolean') return <Switch label={label} name="value" checked={value}
    onChange={(event) => set(event.currentTarget.checked)} />;
  if (typeof value === 'number') {
    return <NumberInput label={label} name="value" required value={value}
      onChange={(next) => { if (typeof next === 'number') set(next); }} />;
  }
  if (Array.isArray(value)) return <TagsInput label={label} name="value" value={value.map(String)} onChange={set} />;
  return <TextInput label={label} name="value" value={String(value)} onChange={(event) => set(event.currentTarget.value)} />;
}
