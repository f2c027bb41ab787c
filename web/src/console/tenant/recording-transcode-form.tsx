import { Button, Fieldset, Group, NumberInput, Radio, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { RenditionInput, RenditionVideoCodec, TranscodeContainer } from '../../gen/api.js';
import { newActionKey } from '../lib/amount.js';
import { client, unwrap } from '../lib/api.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useRecordings } from '../messages/recordings.js';

const mostRenditions = 8;
const containers: TranscodeContainer[] = ['MP4', 'MPEG_TS'];

// A rendition as it is typed. An empty field leaves the choice to the server.
type Typed = number | string;
type Numbers = Record<'height' | 'videoKbps' | 'audioKbps' | 'fps', Typed>;
type Draft = Numbers & { key: number; name: string; videoCodec: RenditionVideoCodec };

const draft = (key: number): Draft => ({ key, name: '', height: 720, videoCodec: 'H264', videoKbps: '', audioKbps: '', fps: '' });

const isLines = (height: Typed) => typeof height === 'number' && height >= 144 && height <= 2160 && height % 2 === 0;

const inputOf = ({ name, height, videoCodec, videoKbps, audioKbps, fps }: Draft): RenditionInput => ({
  height: Number(height), videoCodec, ...(name.trim() && { name: name.trim() }),
  ...(videoKbps !== '' && { videoKbps: Number(videoKbps) }), ...(audioKbps !== '' && { audioKbps: Number(audioKbps) }),
  ...(fps !== '' && { fps: Number(fps) }),
});

export function TranscodeForm({ recordingID, close }: { recordingID: string; close: () => void }) {
  const t = useRecordings();
  const [container, setContainer] = useState<TranscodeContainer>('MP4');
  const [own, setOwn] = useState(false);
  const [checked, setChecked] = useState(false);
  const [list, setList] = useState<Draft[]>([draft(0)]);
  // A repeated request with the same content starts one job.
  const [actionKey, setActionKey] = useState(newActionKey);
  const start = useChange(() => unwrap(client.POST('/v1/me/recordings/{id}/transcode', {
    params: { path: { id: recordingID }, header: { 'Idempotency-Key': actionKey } },
    body: { container, ...(own && { renditions: list.map(inputOf) }) },
  })), { shows: true, done: t('started'), touches: [['transcodes', recordingID]], after: close });
  const faults = fieldErrors(start.error);
  const submit = () => {
    setChecked(true);
    if (!own || list.every(({ height }) => isLines(height))) start.mutate(undefined);
  };
  const changeList = (next: (was: Draft[]) => Draft[]) => { setList(next); setActionKey(newActionKey()); };
  return (
    <FormModal title={t('transcodeTitle')} open close={close} submit={submit} busy={start.isPending}
      error={start.error} action={t('start')}>
      <Select label={t('container')} value={container} allowDeselect={false} error={faults.container}
        comboboxProps={{ withinPortal: false }} data={containers.map((value) => ({ value, label: t(value) }))}
        onChange={(next) => { setContainer(next as TranscodeContainer); setActionKey(newActionKey()); }} />
      <Radio.Group label={t('renditions')} value={own ? 'own' : 'default'} error={faults.renditions}
        onChange={(next) => { setOwn(next === 'own'); setActionKey(newActionKey()); }}>
        <Stack gap="xs" mt={4}>
          <Radio value="default" label={t('defaultSet')} description={t('defaultSetHint')} />
          <Radio value="own" label={t('ownSet')} description={t('ownSetHint')} />
        </Stack>
      </Radio.Group>
      {own && list.map((one, index) => (
        <RenditionFields key={one.key} of={one} index={index} faults={faults} checked={checked}
          change={(change) => changeList((was) => was.map((other) => (other.key === one.key ? { ...other, ...change } : other)))}
          remove={list.length > 1 ? () => changeList((was) => was.filter(({ key }) => key !== one.key)) : undefined} />
      ))}
      {own && list.length < mostRenditions && (
        <Group>
          <Button size="xs" variant="default" onClick={() => changeList((was) => [...was, draft((was.at(-1)?.key ?? 0) + 1)])}>
            {t('addRendition')}
          </Button>
        </Group>
      )}
    </FormModal>
  );
}

interface FieldsProps {
  of: Draft;
  index: number;
  faults: Record<string, string>;
  // Whether the form was sent, so that wrong fields are marked.
  checked: boolean;
  change: (change: Partial<Draft>) => void;
  remove?: () => void;
}

function RenditionFields({ of, index, faults, checked, change, remove }: FieldsProps) {
  const t = useRecordings();
  const at = { number: index + 1 };
  const faultOf = (field: string) => faults[`renditions.${index}.${field}`];
  return (
    <Fieldset legend={t('rendition', at)} p="sm">
      <SimpleGrid cols={2} spacing="xs">
        <NumberInput label={t('lines')} name={`height${index}`} required min={144} max={2160} step={2} allowDecimal={false}
          value={of.height} error={checked && !isLines(of.height) ? t('linesHint') : faultOf('height')}
          onChange={(height) => change({ height })} />
        <Select label={t('codec')} value={of.videoCodec} allowDeselect={false} data={['H264', 'HEVC']} error={faultOf('videoCodec')}
          comboboxProps={{ withinPortal: false }} onChange={(next) => change({ videoCodec: next as RenditionVideoCodec })} />
        <NumberInput label={t('videoKbps')} placeholder={t('automatic')} min={100} max={40_000} allowDecimal={false} value={of.videoKbps}
          error={faultOf('videoKbps')} onChange={(videoKbps) => change({ videoKbps })} />
        <NumberInput label={t('audioKbps')} placeholder="128" min={0} max={320} allowDecimal={false} value={of.audioKbps}
          error={faultOf('audioKbps')} onChange={(audioKbps) => change({ audioKbps })} />
        <NumberInput label={t('fps')} placeholder={t('likeSource')} min={1} max={60} value={of.fps} error={faultOf('fps')}
          onChange={(fps) => change({ fps })} />
        <TextInput label={t('renditionName')} placeholder={of.height === '' ? '' : `${of.height}p`} maxLength={32} value={of.name}
          error={faultOf('name')} onChange={(event) => change({ name: event.currentTarget.value })} />
      </SimpleGrid>
      {remove && (
        <Button size="compact-xs" variant="default" mt="xs" aria-label={t('removeRendition', at)} onClick={remove}>{t('remove1')}</Button>
      )}
    </Fieldset>
  );
}
