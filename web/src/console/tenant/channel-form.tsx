import { Select, Text, Textarea, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import type { Channel } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { FormModal, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useChannels } from '../messages/channels.js';
import { useCommon } from '../messages/common.js';

const noFields = { name: '', hostId: '', members: '', first: '', second: '', projectId: '' };
type Fields = typeof noFields;

const optional = (key: 'name' | 'hostId' | 'projectId', value: string) => (value.trim() ? { [key]: value.trim() } : {});

function create(kind: 'group' | 'direct', { name, hostId, members, first, second, projectId }: Fields): Promise<Channel> {
  if (kind === 'direct') {
    const body = { userIds: [first.trim(), second.trim()], ...optional('name', name), ...optional('projectId', projectId) };
    return unwrap(client.POST('/v1/me/channels/direct', { body }));
  }
  const userIds = members.split('\n').map((line) => line.trim()).filter(Boolean);
  const body = { name: name.trim(), userIds, ...optional('hostId', hostId), ...optional('projectId', projectId) };
  return unwrap(client.POST('/v1/me/channels', { body }));
}

export function NewChannel({ close }: { close: () => void }) {
  const t = useChannels();
  const common = useCommon();
  const navigate = useNavigate();
  const [kind, setKind] = useState<'group' | 'direct'>('group');
  const [fields, setFields] = useState(noFields);
  const change = useChange(() => create(kind, fields), {
    shows: true, after: ({ id }) => { close(); void navigate({ to: '/channels/$id', params: { id } as never }); },
  });
  const faults = fieldErrors(change.error);
  const field = (name: keyof Fields, fault: string = name) => ({
    name, value: fields[name], error: faults[fault],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setFields((was) => ({ ...was, [name]: value }));
    },
  });
  return (
    <FormModal title={t('newChannel')} open close={close} submit={() => change.mutate(undefined)} busy={change.isPending}
      error={change.error} action={common('create')}>
      <Select label={t('kind')} value={kind} allowDeselect={false} onChange={(next) => setKind(next as typeof kind)}
        data={[{ value: 'group', label: t('group') }, { value: 'direct', label: t('direct') }]} />
      <Text size="sm" c="dimmed">{t(kind === 'group' ? 'groupText' : 'directText')}</Text>
      {kind === 'group' ? (
        <>
          <TextInput label={common('name')} required maxLength={120} data-autofocus {...field('name')} />
          <TextInput label={t('host')} description={t('hostHint')} maxLength={128} {...field('hostId')} />
          <Textarea label={t('firstMembers')} description={t('firstMembersHint')} autosize minRows={2} maxRows={8}
            {...field('members', 'userIds')} />
        </>
      ) : (
        <>
          <TextInput label={t('user1')} required maxLength={128} {...field('first', 'userIds')} />
          <TextInput label={t('user2')} required maxLength={128} {...field('second', 'userIds')} />
          <TextInput label={common('name')} description={t('titleHint')} maxLength={120} {...field('name')} />
        </>
      )}
      <TextInput label={t('project')} description={t('projectHint')} maxLength={64} {...field('projectId')} />
    </FormModal>
  );
}
