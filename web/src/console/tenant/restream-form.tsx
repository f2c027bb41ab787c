import { PasswordInput, Select, Switch, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { RestreamPreset, RestreamTarget, RestreamTargetPatch } from '../../gen/api.js';
import { newActionKey } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useRestream } from '../messages/restream.js';
import { keyPlace, platformChoices } from './restream-platforms.js';

const serverAddress = /^rtmps?:\/\/[^/\s]+\/\S+$/i;

// Kick shows its address without a path, and needs this one.
const withPath = (platform: string, server: string) => (platform === 'kick' && /^rtmps?:\/\/[^/\s]+\/?$/i.test(server) ? `${server.replace(/\/$/, '')}/app` : server);

// The end of a masked address, without the asterisks.
export const endOf = (masked: string) => masked.replace(/^\*+/, '');

interface Props { target?: RestreamTarget; presets: RestreamPreset[]; close: () => void }

// A new target, or a change of one. The server never returns a key, so empty fields keep it.
export function TargetForm({ target, presets, close }: Props) {
  const t = useRestream();
  const common = useCommon();
  const [form, setForm] = useState({
    name: target?.name ?? '', platform: target?.platform ?? presets.at(-1)?.platform ?? 'custom', server: '', key: '',
  });
  // A server of the former version doesn't say whether the target has a server of its own.
  const stored = target?.presetServer === false;
  const [ownServer, setOwnServer] = useState(stored);
  const [checked, setChecked] = useState(false);
  // A repeated request with the same content creates one target.
  const [actionKey, setActionKey] = useState(newActionKey);
  const set = (change: Partial<typeof form>) => { setForm((was) => ({ ...was, ...change })); setActionKey(newActionKey()); };
  const preset = presets.find(({ platform }) => platform === form.platform);
  const asksServer = !preset || ownServer;
  const [server, key] = [asksServer ? withPath(form.platform, form.server.trim()) : '', form.key.trim()];
  const needed = !target || target.platform !== form.platform || server !== '' || key !== '' || (preset !== undefined && ownServer !== stored);
  const wrong = checked ? faultsOf(server, key, asksServer, needed) : {};
  const address = !needed ? {} : asksServer ? { rtmpUrl: `${server.replace(/\/+$/, '')}/${key}` } : { streamKey: key };
  const save = useChange(async () => {
    const { name, platform } = form;
    if (!target) {
      const header = { 'Idempotency-Key': actionKey };
      return unwrap(client.POST('/v1/me/restream/targets', { params: { header }, body: { name, platform, ...address } }));
    }
    const changed = { ...(name !== target.name && { name }), ...(platform !== target.platform && { platform }) };
    const body: RestreamTargetPatch = { ...changed, ...address };
    return unwrap(client.PATCH('/v1/me/restream/targets/{id}', { params: { path: { id: target.id } }, body }));
  }, { shows: true, done: common('saved'), after: close });
  const submit = () => {
    setChecked(true);
    if (Object.keys(faultsOf(server, key, asksServer, needed)).length === 0) save.mutate(undefined);
  };
  const faults = fieldErrors(save.error);
  const keep = target && (target.platform === form.platform ? t('keptKey', { end: endOf(target.rtmpUrl) }) : t('newPlatformKey'));
  return (
    <FormModal title={t(target ? 'editTarget' : 'newTarget')} open close={close} submit={submit} busy={save.isPending} error={save.error}
      action={common(target ? 'save' : 'create')}>
      <TextInput label={common('name')} description={t('nameHint')} name="name" required maxLength={120} value={form.name}
        error={faults.name} data-autofocus
        onChange={(event) => set({ name: event.currentTarget.value })} />
      <Select label={t('platform')} value={form.platform} allowDeselect={false} error={faults.platform}
        data={platformChoices(t, presets, target?.platform)}
        onChange={(next) => { set({ platform: next ?? 'custom' }); setOwnServer(next === target?.platform && stored); }} comboboxProps={{ withinPortal: false }} />
      <Text size="sm" c="dimmed" role="status">{keyPlace(t, form.platform, Boolean(preset))}</Text>
      {preset && (
        <Switch label={t('ownServer')} description={t('ownServerHint', { address: preset.address })} checked={ownServer}
          onChange={(event) => { setOwnServer(event.currentTarget.checked); setActionKey(newActionKey()); }} />
      )}
      {asksServer && (
        <TextInput label={t('server')} name="server" maxLength={1900} placeholder="rtmps://live.example.com/app" spellCheck={false}
          autoComplete="off" required={!target}
          value={form.server} error={wrong.server ? t(wrong.server) : faults.rtmpUrl}
          onChange={(event) => set({ server: event.currentTarget.value })} />
      )}
      <PasswordInput label={t('streamKey')} name="streamKey" description={keep ?? t('secret')} maxLength={1024} autoComplete="off"
        spellCheck={false} required={!target}
        value={form.key} error={wrong.key ? t(wrong.key) : faults.streamKey ?? (asksServer ? undefined : faults.rtmpUrl)}
        visibilityToggleButtonProps={{ 'aria-label': t('showKey') }} onChange={(event) => set({ key: event.currentTarget.value })} />
      {target && needed && <Text size="xs" c="dimmed">{t('liveChange')}</Text>}
    </FormModal>
  );
}

type Fault = 'badServer' | 'badKey' | 'needKey' | 'needServer';

function faultsOf(server: string, key: string, asksServer: boolean, needed: boolean): { server?: Fault; key?: Fault } {
  if (!needed) return {};
  return {
    ...(asksServer && !server && { server: 'needServer' as const }),
    ...(asksServer && server && !serverAddress.test(server) && { server: 'badServer' as const }),
    ...(!key && { key: 'needKey' as const }), ...(/\s/.test(key) && { key: 'badKey' as const }),
  };
}
