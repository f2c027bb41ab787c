import { Button } from '@mantine/core';
import { useState } from 'react';

import type { Channel } from '../../gen/api.js';
import { client } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { number, time } from '../lib/format.js';
import { Empty, Heading } from '../lib/parts.js';
import { useListState } from '../lib/table.js';
import { useChannels } from '../messages/channels.js';
import { useCommon } from '../messages/common.js';
import { NewChannel } from './channel-form.js';
import { useMay } from './identity.js';

export default function Channels() {
  const t = useChannels();
  const common = useCommon();
  const may = useMay();
  const [state] = useListState();
  const [creating, setCreating] = useState(false);
  const userId = state.userId ?? '';
  const list = useCursorList<Channel>(['channels', userId], (query, signal) => (
    client.GET('/v1/me/channels', { params: { query: { ...query, ...(userId && { userId }) } }, signal })
  ), 10_000);
  return (
    <>
      <Heading title={t('channels')}>
        {may('chat:write') && <Button size="xs" onClick={() => setCreating(true)} data-testid="new-channel">{t('newChannel')}</Button>}
      </Heading>
      <CursorList<Channel> name="channels" label={t('channels')} list={list}
        link={({ id }) => `/channels/${id}`}
        empty={<Empty text={t('noChannels')} />}
        filters={[{ key: 'userId', label: t('member') }]}
        columns={[
          { key: 'name', title: common('name'), value: ({ name }) => name },
          { key: 'kind', title: t('kind'), value: ({ kind }) => t(kind) },
          { key: 'members', title: t('members'), value: ({ memberCount }) => memberCount,
            render: ({ memberCount }) => number(memberCount) },
          { key: 'last', title: t('lastMessage'), value: ({ lastMessageAt }) => lastMessageAt,
            render: ({ lastMessageAt }) => (lastMessageAt ? time(lastMessageAt) : t('never')), wide: true },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt,
            render: ({ createdAt }) => time(createdAt), wide: true },
        ]} />
      {creating && <NewChannel close={() => setCreating(false)} />}
    </>
  );
}
