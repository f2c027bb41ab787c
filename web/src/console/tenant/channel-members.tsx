import { Button, Group, Menu, Select, Text, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';

import type { Channel, ChannelMember, ParticipantRole } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { time } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { Empty, FormModal, Section, useChange, useConfirm } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { DataList } from '../lib/table.js';
import { useChannels } from '../messages/channels.js';
import { useChat } from '../messages/chat.js';
import { useCommon } from '../messages/common.js';
import { channelKey, moderationKeys, useInForce, type RestrictionState } from './chat-data.js';
import { useRestricting } from './chat-restrict.js';
import { RestrictionBadge } from './chat-rules.js';
import { useMay } from './identity.js';

const roleTexts = {
  host: 'roleHost', cohost: 'roleCohost', guest: 'roleGuest', viewer: 'roleViewer',
} as const satisfies Record<ParticipantRole, string>;
const touches = (id: string) => [channelKey(id), ...moderationKeys(id)];

function join(id: string, userId: string, role: ParticipantRole): Promise<ChannelMember> {
  return unwrap(client.POST('/v1/me/channels/{id}/join', { params: { path: { id } }, body: { userId, role } }));
}

// The restrictions of a member. A ban ends a membership.
function stateOfMember({ userId, muted, timedOutUntil }: ChannelMember): RestrictionState[] {
  return [
    ...(muted ? [{ kind: 'mute' as const, userId, until: null }] : []),
    ...(timedOutUntil ? [{ kind: 'timeout' as const, userId, until: timedOutUntil }] : []),
  ];
}

const withId = (one: ChannelMember) => ({ ...one, id: one.userId });

export function ChannelMembers({ channel: { id, kind } }: { channel: Channel }) {
  const t = useChannels();
  const chat = useChat();
  const common = useCommon();
  const may = useMay();
  const confirm = useConfirm();
  const [adding, setAdding] = useState(false);
  const list = useCursorList<ChannelMember>(['channel-members', id], (query, signal) => (
    client.GET('/v1/me/channels/{id}/members', { params: { path: { id }, query }, signal })
  ), 10_000);
  const { rows: members } = list;
  const restrictions = useInForce(useMemo(() => members?.flatMap(stateOfMember), [members])) ?? [];
  const { items, dialog } = useRestricting(id, restrictions);
  const options = { done: common('done'), touches: touches(id) };
  const change = useChange(({ userId, role }: { userId: string; role: ParticipantRole }) => join(id, userId, role), options);
  const leave = useChange((userId: string) => (
    unwrap(client.POST('/v1/me/channels/{id}/leave', { params: { path: { id } }, body: { userId } }))
  ), options);
  // The two members of a direct channel are permanent.
  const joins = kind !== 'direct' && may('chat:write');
  const restrictionsOf = (userId: string) => restrictions.filter((one) => one.userId === userId);
  const stateOf = (userId: string) => restrictionsOf(userId).map((one) => (
    one.kind === 'timeout' ? chat('timedOutShort') : chat(one.kind === 'ban' ? 'banned' : 'muted')
  )).join(', ') || t('mayWrite');
  return (
    <Section title={t('members')} aside={joins && (
      <Button size="xs" variant="default" onClick={() => setAdding(true)}>{t('addMember')}</Button>
    )}>
      <DataList<ChannelMember & { id: string }> name="members" label={t('members')}
        rows={list.rows?.map(withId)} rest={async () => { const { rows, complete } = await list.rest(); return { rows: rows.map(withId), complete }; }} error={list.error} retry={() => void list.refetch()}
        fetching={list.isFetching} empty={<Empty text={t('noMembers')} />} more={<MoreButton list={list} />}
        columns={[
          { key: 'name', title: t('user'), value: ({ userId }) => userId },
          { key: 'role', title: t('role'), value: ({ role }) => t(roleTexts[role]) },
          { key: 'state', title: t('state'), value: ({ userId }) => stateOf(userId), render: ({ userId }) => {
            const own = restrictionsOf(userId);
            if (own.length === 0) return <Text size="sm">{t('mayWrite')}</Text>;
            return <Group gap={6}>{own.map((one) => <RestrictionBadge key={one.kind} of={one} />)}</Group>;
          } },
          { key: 'joined', title: t('joined'), value: ({ joinedAt }) => joinedAt, render: ({ joinedAt }) => time(joinedAt), wide: true },
        ]}
        actions={may('chat:write') ? ({ userId, role }) => (joins || role !== 'host') && (
          <Menu position="bottom-end">
            <Menu.Target>
              <Button size="compact-xs" variant="default" aria-label={t('actionsOn', { name: userId })}>…</Button>
            </Menu.Target>
            <Menu.Dropdown>
              {joins && (['cohost', 'guest'] as const).filter((one) => one !== role).map((one) => (
                <Menu.Item key={one} onClick={() => change.mutate({ userId, role: one })}>
                  {t(one === 'guest' ? 'makeGuest' : 'makeCohost')}
                </Menu.Item>
              ))}
              {role !== 'host' && items({ userId, name: userId })}
              {joins && (
                <Menu.Item color="var(--mantine-color-error)"
                  onClick={() => confirm(t('removeMember'), t('removeMemberText', { name: userId }), () => leave.mutate(userId))}>
                  {t('removeMember')}
                </Menu.Item>
              )}
            </Menu.Dropdown>
          </Menu>
        ) : undefined} />
      {adding && <AddMember id={id} close={() => setAdding(false)} />}
      {dialog}
    </Section>
  );
}

function AddMember({ id, close }: { id: string; close: () => void }) {
  const t = useChannels();
  const [userId, setUser] = useState('');
  const [role, setRole] = useState<ParticipantRole>('guest');
  const add = useChange(() => join(id, userId.trim(), role), { shows: true, done: t('memberAdded'), after: close, touches: touches(id) });
  return (
    <FormModal title={t('addMember')} open close={close} submit={() => add.mutate(undefined)} busy={add.isPending} error={add.error}
      action={t('add')}>
      <TextInput label={t('userId')} name="userId" required maxLength={128} value={userId} error={fieldErrors(add.error).userId}
        data-autofocus onChange={(event) => setUser(event.currentTarget.value)} />
      <Select label={t('role')} description={t('roleHint')} value={role} allowDeselect={false}
        onChange={(next) => setRole(next as ParticipantRole)}
        data={(['guest', 'cohost', 'host'] as const).map((value) => ({ value, label: t(roleTexts[value]) }))} />
    </FormModal>
  );
}
