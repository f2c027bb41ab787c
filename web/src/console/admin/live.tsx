import { Badge, Card, Group, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import type { AdminStream } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { number, time } from '../lib/format.js';
import { Pager } from '../lib/pager.js';
import { Empty, Heading, ReasonButton, Waiting } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useListState } from '../lib/table.js';
import { useAdminStreams } from '../messages/admin-streams.js';
import { useWord } from '../messages/admin-words.js';
import { useMay } from './gate.js';
import { LivePicture } from './live-picture.js';
import { Tag } from './shown.js';

const pageSize = '24';

// Cards of all streams that are on air, refreshed every five seconds.
export default function LiveWall() {
  const t = useAdminStreams();
  const [state, change] = useListState();
  const page = state.page ?? '1';
  const query = { page, pageSize, ...(state.tenantId && { tenantId: state.tenantId }) };
  const list = useQuery({
    queryKey: ['admin-live', query],
    queryFn: () => unwrap(client.GET('/v1/admin/streams/live', { params: { query } })),
    placeholderData: keepPreviousData,
    refetchInterval: 5000,
  });
  return (
    <Stack>
      <Heading title={t('live')}>{list.data && <Badge variant="outline" size="lg" tt="none">{number(list.data.total)}</Badge>}</Heading>
      <TextInput size="xs" maw={260} type="search" label={t('tenantID')} defaultValue={state.tenantId ?? ''}
        onChange={(event) => change({ tenantId: event.currentTarget.value.trim(), page: '' })} />
      {list.data && <ProblemNote error={list.error} onRetry={() => void list.refetch()} />}
      {!list.data ? <Waiting query={list} /> : list.data.items.length === 0 ? (
        <Stack align="center" py="xl" role="status"><Empty text={t('liveEmpty')} /></Stack>
      ) : (
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>{list.data.items.map((stream) => <LiveCard key={stream.id}
          stream={stream} />)}</SimpleGrid>
      )}
      {list.data && <Pager page={list.data.page} pageSize={list.data.pageSize} total={list.data.total}
        go={(to) => change({ page: String(to) })} />}
    </Stack>
  );
}

function LiveCard({ stream }: { stream: AdminStream }) {
  const t = useAdminStreams();
  const word = useWord();
  const { id, name, tenantId, tenantName, status, health, viewerCount, startedAt } = stream;
  return (
    <Card withBorder padding="sm" data-stream={id}>
      <Group justify="space-between" wrap="nowrap" mb={4}>
        <Title order={2} size="h5" lineClamp={1}><Link className="link" to={`/streams/${id}` as never}>{name}</Link></Title>
        <Tag of={status} />
      </Group>
      <LivePicture stream={stream} />
      <Text size="sm" mt="xs" truncate>{t('tenant')}: <Link className="link" to={`/tenants/${tenantId}` as never}>{tenantName}</Link></Text>
      <Text size="sm" c="dimmed">{t('since', { time: time(startedAt) })}</Text>
      <Group gap="lg" my="xs">
        <Figure label={t('viewers')} value={number(viewerCount)} />
        <Figure label={t('videoKbps')} value={number(health.videoKbps)} />
        <Figure label={t('fps')} value={number(health.fps)} />
      </Group>
      <Text size="sm">{health.width ? `${health.width} × ${health.height} · ${health.videoCodec ?? ''}` : t('noPicture')}</Text>
      <Group gap={6}><Text size="sm">{t('health')}: {word(health.state)}</Text>{health.reason && <Text size="sm" c="dimmed"
        lineClamp={2}>{health.reason}</Text>}</Group>
      <Group mt="sm" justify="space-between"><Link className="link" to={`/streams/${id}` as never}>{t('inspect')}</Link><StopButton
        id={id} /></Group>
    </Card>
  );
}

function Figure({ label, value }: { label: string; value: string }) {
  return <div><Text size="xs" c="dimmed">{label}</Text><Text fw={700}>{value}</Text></div>;
}

export function StopButton({ id }: { id: string }) {
  const t = useAdminStreams();
  const may = useMay();
  if (!may('admin:write')) return null;
  return (
    <ReasonButton label={t('forceStop')} text={t('forceStopText')}
      run={(reason) => unwrap(client.POST('/v1/admin/streams/{id}/force-stop', { params: { path: { id } }, body: { reason } }))} />
  );
}
