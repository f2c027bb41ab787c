import { Button, Select, Switch, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import type { StreamMode } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { number, time } from '../lib/format.js';
import { keepNewKey } from '../lib/new-keys.js';
import { Empty, FormModal, Heading, Status, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { useStates } from '../messages/states.js';
import { useMayCall } from './identity.js';

export default function Streams() {
  const t = useConsole();
  const states = useStates();
  const common = useCommon();
  const mayCall = useMayCall();
  const [creating, setCreating] = useState(false);
  const list = useCursorList(['streams'], (query, signal) => client.GET('/v1/me/streams', { params: { query }, signal }), 10_000);
  const create = mayCall('createStream') && <Button size="xs" onClick={() => setCreating(true)} data-testid="new-stream">{t('newStream')}</Button>;
  return (
    <>
      <Heading title={t('streams')}>{create}</Heading>
      <CursorList name="streams" label={t('streams')} list={list}
        link={({ id }) => `/streams/${id}`} empty={<Empty text={t('noStreams')} />}
        columns={[
          { key: 'name', title: common('name'), value: ({ name }) => name },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Status of={status} label={states(status)} /> },
          { key: 'viewers', title: t('viewers'), value: ({ viewerCount }) => viewerCount, render: ({ viewerCount }) => number(viewerCount) },
          { key: 'started', title: t('started'), value: ({ startedAt }) => startedAt, render: ({ startedAt }) => time(startedAt), wide: true },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt), wide: true },
        ]} />
      <NewStream open={creating} close={() => setCreating(false)} />
    </>
  );
}

function NewStream({ open, close }: { open: boolean; close: () => void }) {
  const t = useConsole();
  const common = useCommon();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [mode, setMode] = useState<StreamMode>('LOW_LATENCY');
  const [recordingEnabled, setRecording] = useState(false);
  const create = useChange(() => unwrap(client.POST('/v1/me/streams', { body: { name, mode, recordingEnabled } })), {
    shows: true,
    after: (stream) => {
      keepNewKey(stream.id, stream.streamKey);
      close();
      void navigate({ to: '/streams/$id', params: { id: stream.id } as never });
    },
  });
  return (
    <FormModal title={t('newStream')} open={open} close={close} submit={() => create.mutate(undefined)} busy={create.isPending} error={create.error} action={common('create')}>
      <TextInput label={t('streamName')} name="name" required value={name} error={fieldErrors(create.error).name} data-autofocus
        onChange={(event) => setName(event.currentTarget.value)} />
      <Select label={t('mode')} value={mode} allowDeselect={false} onChange={(next) => setMode(next as StreamMode)}
        data={[{ value: 'LOW_LATENCY', label: t('lowLatency') }, { value: 'STANDARD', label: t('standard') }]} />
      <Switch label={t('record')} checked={recordingEnabled} onChange={(event) => setRecording(event.currentTarget.checked)} />
    </FormModal>
  );
}
