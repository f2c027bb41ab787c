import { Button, FileInput, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { Recording, RecordingTextTrack, TextTrackKind } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { decodeText } from '../lib/csv-read.js';
import { bytes, number, time } from '../lib/format.js';
import { currentLanguage } from '../lib/i18n.js';
import { FormModal, Section, useChange, useConfirm, Waiting } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useRecordings } from '../messages/recordings.js';
import { useMay } from './identity.js';

const maxBytes = 1024 * 1024;
const kinds: TextTrackKind[] = ['SUBTITLES', 'CAPTIONS'];

// The name of a language in the user's one, or the code itself.
function languageName(code: string): string {
  try {
    return new Intl.DisplayNames([currentLanguage()], { type: 'language' }).of(code) ?? code;
  } catch {
    return code; // it is none
  }
}

export function RecordingTracks({ recording }: { recording: Recording }) {
  const t = useRecordings();
  const writes = useMay()('recordings:write');
  const [adding, setAdding] = useState(false);
  const { id } = recording;
  const list = api.useQuery('get', '/v1/me/recordings/{id}/text-tracks', { params: { path: { id } } });
  const add = writes && recording.status === 'READY' && (
    <Button size="xs" variant="default" onClick={() => setAdding(true)} data-testid="add-track">{t('addTrack')}</Button>
  );
  return (
    <Section title={t('textTracks')} aside={add}>
      {!list.data ? <Waiting query={list} height={60} /> : list.data.length === 0 && <Text size="sm" c="dimmed">{t('noTextTracks')}</Text>}
      <Stack gap="sm">
        {list.data?.map((track) => <Track key={track.language} recordingID={id} track={track} writes={writes} />)}
      </Stack>
      {adding && <TrackForm recordingID={id} close={() => setAdding(false)} />}
    </Section>
  );
}

function Track({ recordingID, track, writes }: { recordingID: string; track: RecordingTextTrack; writes: boolean }) {
  const t = useRecordings();
  const confirm = useConfirm();
  const { language, name } = track;
  const remove = useChange(() => unwrap(client.DELETE('/v1/me/recordings/{id}/text-tracks/{language}', {
    params: { path: { id: recordingID, language } },
  })), { done: t('trackRemoved') });
  const facts = [
    `${languageName(language)} (${language})`, t(`kind${track.kind}`), t('cues', { count: number(track.cueCount) }), bytes(track.sizeBytes),
    t('changed', { time: time(track.updatedAt) }),
  ];
  return (
    <Group justify="space-between" gap="xs" wrap="nowrap" align="start">
      <div className="prose">
        <Text size="sm" fw={600}>{name}</Text>
        <Text size="xs" c="dimmed">{facts.join(' · ')}</Text>
      </div>
      {writes && (
        <Button size="compact-xs" variant="default" flex="none" loading={remove.isPending} aria-label={t('removeTrackName', { name })}
          onClick={() => confirm(t('removeTrack'), t('removeTrackText', { name }), () => remove.mutate(undefined))}>{t('remove')}</Button>
      )}
    </Group>
  );
}

function TrackForm({ recordingID, close }: { recordingID: string; close: () => void }) {
  const t = useRecordings();
  const [form, setForm] = useState({ file: null as File | null, language: '', name: '', kind: 'SUBTITLES' as TextTrackKind });
  const [checked, setChecked] = useState(false);
  const set = (change: Partial<typeof form>) => setForm((was) => ({ ...was, ...change }));
  const { file, language, name, kind } = form;
  const save = useChange(async (chosen: File) => unwrap(client.PUT('/v1/me/recordings/{id}/text-tracks/{language}', {
    params: { path: { id: recordingID, language: language.trim() } }, body: { name: name.trim(), kind, content: decodeText(await chosen.arrayBuffer()) },
  })), { shows: true, done: t('uploaded'), after: close });
  const fileFault = !file ? t('needFile') : file.size > maxBytes ? t('tooLarge') : '';
  const faults = fieldErrors(save.error);
  const submit = () => {
    setChecked(true);
    if (file && !fileFault) save.mutate(file);
  };
  // Menus of players name a language in that language.
  const suggestName = () => {
    const code = language.trim();
    if (name || !code) return;
    try {
      set({ name: new Intl.DisplayNames([code], { type: 'language' }).of(code) ?? '' });
    } catch {
      // The server says what is wrong with the code.
    }
  };
  return (
    <FormModal title={t('trackTitle')} open close={close} submit={submit} busy={save.isPending} error={save.error} action={t('upload')}>
      <FileInput label={t('file')} placeholder={t('chooseFile')} accept=".vtt,text/vtt" value={file}
        error={(checked && fileFault) || faults.content} fileInputProps={{ 'aria-label': t('file') } as never}
        onChange={(next) => { set({ file: next }); setChecked(true); }} />
      <TextInput label={t('trackLanguage')} description={t('languageHint')} name="language" required minLength={2} maxLength={35}
        value={language} autoComplete="off" spellCheck={false} error={faults.language} onBlur={suggestName}
        onChange={(event) => set({ language: event.currentTarget.value })} />
      <TextInput label={t('trackName')} name="trackName" required maxLength={100} value={name} error={faults.name}
        onChange={(event) => set({ name: event.currentTarget.value })} />
      <Select label={t('kind')} value={kind} allowDeselect={false} error={faults.kind} comboboxProps={{ withinPortal: false }}
        data={kinds.map((value) => ({ value, label: t(value) }))} onChange={(next) => set({ kind: next as TextTrackKind })} />
    </FormModal>
  );
}
