import { Button, Select, Switch, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import type { Session, SessionInputType, SessionState, SessionType } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { number, time } from '../lib/format.js';
import { Empty, FormModal, Heading, Status, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useListState } from '../lib/table.js';
import { useCalls } from '../messages/calls.js';
import { useCommon } from '../messages/common.js';
import { useRooms } from '../messages/rooms.js';
import { NewCall } from './call-form.js';
import { useMay, useMayCall } from './identity.js';

const types: SessionType[] = ['conference', 'webinar', 'livestream', 'call'];

export function SessionStateBadge({ of }: { of: SessionState }) {
  const t = useRooms();
  return <Status of={of} label={t(of)} />;
}

export default function Sessions() {
  const t = useRooms();
  const common = useCommon();
  const may = useMay();
  const [state] = useListState();
  const mayInvite = useMayCall()('inviteCall');
  const calls = useCalls();
  const [creating, setCreating] = useState(false);
  const [calling, setCalling] = useState(false);
  const filter = types.includes(state.type as SessionType) ? { type: state.type as SessionType } : {};
  const list = useCursorList<Session>(['sessions', filter], (query, signal) => (
    client.GET('/v1/me/sessions', { params: { query: { ...query, ...filter } }, signal })
  ), 10_000);
  return (
    <>
      <Heading title={t('sessions')}>
        {mayInvite && <Button size="xs" variant="default" onClick={() => setCalling(true)} data-testid="new-call">{calls('newCall')}</Button>}
        {may('sessions:write') && <Button size="xs" onClick={() => setCreating(true)}>{t('newSession')}</Button>}
      </Heading>
      <CursorList<Session> name="sessions" label={t('sessions')} list={list}
        link={({ id }) => `/sessions/${id}`} empty={<Empty text={t('noSessions')} />}
        filters={[{ key: 'type', label: t('type'), options: types.map((value) => ({ value, label: t(value) })) }]}
        columns={[
          { key: 'name', title: common('name'), value: ({ name, type }) => name || t(type) },
          { key: 'type', title: t('type'), value: ({ type }) => t(type) },
          { key: 'state', title: common('status'), value: (row) => t(row.state), render: (row) => <SessionStateBadge of={row.state} /> },
          { key: 'people', title: t('people'), value: ({ participantCount }) => participantCount,
            render: ({ participantCount, capacity }) => t('people2', { count: number(participantCount), capacity: number(capacity) }), wide: true },
          { key: 'host', title: t('host'), value: ({ hostId }) => hostId, wide: true },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt), wide: true },
        ]} />
      {calling && <NewCall close={() => setCalling(false)} />}
      {creating && <NewSession close={() => setCreating(false)} />}
    </>
  );
}

function NewSession({ close }: { close: () => void }) {
  const t = useRooms();
  const common = useCommon();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [hostId, setHost] = useState('');
  const [capacity, setCapacity] = useState('');
  const [type, setType] = useState<SessionInputType>('conference');
  const [waitingRoom, setWaitingRoom] = useState(false);
  const [transcriptionEnabled, setTranscription] = useState(false);
  const [recordingEnabled, setRecording] = useState(false);
  const create = useChange(() => unwrap(client.POST('/v1/me/sessions', {
    body: { name, hostId, type, waitingRoom, transcriptionEnabled, recordingEnabled, ...(capacity && { capacity: Number(capacity) }) },
  })), { shows: true, after: ({ id }) => { close(); void navigate({ to: '/sessions/$id', params: { id } as never }); } });
  const faults = fieldErrors(create.error);
  return (
    <FormModal title={t('newSession')} open close={close} submit={() => create.mutate(undefined)} busy={create.isPending} error={create.error} action={common('create')}>
      <TextInput label={common('name')} name="name" required maxLength={200} value={name} error={faults.name} data-autofocus
        onChange={(event) => setName(event.currentTarget.value)} />
      <Select label={t('type')} value={type} allowDeselect={false} onChange={(next) => setType(next as SessionInputType)}
        data={types.filter((value) => value !== 'call').map((value) => ({ value, label: t(value) }))} />
      <TextInput label={t('hostID')} name="hostId" required maxLength={128} value={hostId} error={faults.hostId} onChange={(event) => setHost(event.currentTarget.value)} />
      <TextInput label={t('capacity')} description={t('capacityHint')} name="capacity" type="number" min={2} max={10_000} value={capacity} error={faults.capacity}
        onChange={(event) => setCapacity(event.currentTarget.value)} />
      <Switch label={t('waitingRoom')} checked={waitingRoom} onChange={(event) => setWaitingRoom(event.currentTarget.checked)} />
      <Switch label={t('transcription')} checked={transcriptionEnabled} onChange={(event) => setTranscription(event.currentTarget.checked)} />
      <Switch label={t('announceRecording')} checked={recordingEnabled} onChange={(event) => setRecording(event.currentTarget.checked)} />
    </FormModal>
  );
}
