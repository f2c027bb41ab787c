import { SimpleGrid, Stack, Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';

import { api, client, unwrap } from '../lib/api.js';
import { number, time } from '../lib/format.js';
import { Figure, Heading, Waiting } from '../lib/parts.js';
import { useChannels } from '../messages/channels.js';
import { useCommon } from '../messages/common.js';
import { ChannelMembers } from './channel-members.js';
import { Chat } from './chat.js';

export default function ChannelPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useChannels();
  const common = useCommon();
  const query = api.useQuery('get', '/v1/me/channels/{id}', { params: { path: { id } } }, { refetchInterval: 15_000 });
  const channel = query.data;
  if (!channel) return <Waiting query={query} />;
  const at = (text: string) => <Text component="span" size="sm">{text}</Text>;
  return (
    <Stack>
      <Heading title={channel.name} />
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="xs">
        <Figure label={t('kind')} value={t(channel.kind)} />
        <Figure label={t('members')} value={number(channel.memberCount)} />
        <Figure label={t('lastMessage')} value={at(channel.lastMessageAt ? time(channel.lastMessageAt) : t('never'))} />
        <Figure label={common('created')} value={at(time(channel.createdAt))} />
      </SimpleGrid>
      <Chat key={id} id={id} closed={channel.kind === 'direct' ? t('onlyMembers') : undefined}
        send={(body) => unwrap(client.POST('/v1/me/channels/{id}/messages', { params: { path: { id } }, body }))} />
      <ChannelMembers channel={channel} />
    </Stack>
  );
}
