import { Button, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import type { Recording } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { FormModal, useChange, useConfirm } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useRecordings } from '../messages/recordings.js';
import { useMay } from './identity.js';

export function RecordingActions({ recording }: { recording: Recording }) {
  const t = useRecordings();
  const may = useMay();
  const confirm = useConfirm();
  const navigate = useNavigate();
  const [renaming, setRenaming] = useState(false);
  const { id, status, streamId, sessionId } = recording;
  const stop = useChange(async () => {
    const params = (of: string) => ({ params: { path: { id: of, recId: id } } });
    if (streamId) await unwrap(client.POST('/v1/me/streams/{id}/recordings/{recId}/stop', params(streamId)));
    else if (sessionId) await unwrap(client.POST('/v1/me/sessions/{id}/recording/{recId}/stop', params(sessionId)));
  });
  const remove = useChange(() => unwrap(client.DELETE('/v1/me/recordings/{id}', { params: { path: { id } } })), {
    done: t('removed'), touches: [['recordings'], ['get', '/v1/me/recordings/{id}']], after: () => void navigate({ to: '/recordings' }),
  });
  const mayStop = may(streamId ? 'recordings:write' : 'sessions:write');
  const finished = status === 'READY' || status === 'FAILED';
  return (
    <>
      {status === 'RECORDING' && mayStop && (
        <Button size="xs" color="red.9" loading={stop.isPending}
          onClick={() => confirm(t('stop'), t('stopText'), () => stop.mutate(undefined))}>{t('stop')}</Button>
      )}
      {status !== 'DELETED' && may('recordings:write') && (
        <Button size="xs" variant="default" onClick={() => setRenaming(true)}>{t('rename')}</Button>
      )}
      {finished && may('recordings:write') && (
        <Button size="xs" variant="default" loading={remove.isPending} data-testid="delete-recording"
          onClick={() => confirm(t('remove'), t('removeText'), () => remove.mutate(undefined))}>{t('remove')}</Button>
      )}
      {renaming && <RenameForm recording={recording} close={() => setRenaming(false)} />}
    </>
  );
}

function RenameForm({ recording, close }: { recording: Recording; close: () => void }) {
  const t = useRecordings();
  const common = useCommon();
  const [name, setName] = useState(recording.name ?? '');
  const save = useChange(() => unwrap(client.PATCH('/v1/me/recordings/{id}', {
    params: { path: { id: recording.id } }, body: { name: name.trim() || null },
  })), { shows: true, done: common('saved'), after: close });
  return (
    <FormModal title={t('renameTitle')} open close={close} submit={() => save.mutate(undefined)} busy={save.isPending}
      error={save.error} action={common('save')}>
      <TextInput label={common('name')} description={t('renameHint')} name="name" maxLength={200} value={name} data-autofocus
        error={fieldErrors(save.error).name} onChange={(event) => setName(event.currentTarget.value)} />
    </FormModal>
  );
}
