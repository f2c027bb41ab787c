import { Group, SimpleGrid, Stack } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';

import type { AdminStreamDetail } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { duration, number, time } from '../lib/format.js';
import { Figure, Heading, ReasonButton, Section, Waiting } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useAdminStreams } from '../messages/admin-streams.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { Inspector } from './inspector.js';
import { StopButton } from './live.js';
import { LivePicture } from './live-picture.js';
import { Facts, Rows, Tag } from './shown.js';

export default function StreamPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useAdminStreams();
  const admin = useAdmin();
  const common = useCommon();
  const word = useWord();
  const query = api.useQuery('get', '/v1/admin/streams/{id}', { params: { path: { id } } }, { refetchInterval: 5000 });
  if (!query.data) return <Waiting query={query} />;
  const { stream, recordings, audit, publisher } = query.data;
  const { status, health, viewerCount } = stream;
  return (
    <Stack>
      <Heading title={stream.name}>
        <Tag of={status} />
        {(publisher || status === 'LIVE' || status === 'RECONNECTING') && <StopButton id={id} />}
      </Heading>
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label={t('viewers')} value={number(viewerCount)} />
        <Figure label={t('videoKbps')} value={number(health.videoKbps)} />
        <Figure label={t('fps')} value={number(health.fps)} />
        <Figure label={t('picture')} value={health.width ? `${health.width} × ${health.height}` : '–'} />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Stack><LivePicture stream={stream} /><Details of={query.data} /></Stack>
        <Stack><Keys id={id} /></Stack>
      </SimpleGrid>
      <Inspector id={id} />
      <Rows title={t('recordings')} head={[t('started'), common('status'), t('length')]} rows={recordings.map((row) => ({
        key: row.id, cells: [time(row.startedAt), <Tag key="status" of={row.status} />, duration(row.durationSec)],
      }))} />
      <Rows title={t('audit')} head={[admin('action'), admin('actor'), common('reason'), admin('at')]} rows={audit.map((row) => ({
        key: row.id, cells: [row.action, word(row.actorType), row.reason ?? '', time(row.at)],
      }))} />
    </Stack>
  );
}

function Details({ of: { stream, tenant, publisher } }: { of: AdminStreamDetail }) {
  const t = useAdminStreams();
  const word = useWord();
  const common = useCommon();
  return (
    <Section title={t('details')}>
      <Facts of={[
        [t('tenant'), <Link key="tenant" className="link" to={`/tenants/${tenant.id}` as never}>{tenant.name}</Link>],
        [t('health'), <Group key="health" gap="xs"><Tag of={stream.health.state} />{stream.health.reason}</Group>],
        [t('mode'), word(stream.mode)],
        [t('recorded'), stream.recordingEnabled ? t('yes') : t('no')],
        [t('reconnect'), t('seconds', { n: stream.reconnectWindowSec })],
        [t('started'), time(stream.startedAt)],
        [t('ended'), time(stream.endedAt)],
        ...(stream.blockedUntil ? [[t('blockedUntil'), time(stream.blockedUntil)] as [string, string]] : []),
        ...(publisher ? [
          [t('source'), word(publisher.source)] as [string, string], [t('address'), publisher.remoteIp] as [string, string],
          [t('node'), publisher.node] as [string, string],
        ] : []),
        [common('created'), time(stream.createdAt)],
      ]} />
    </Section>
  );
}

// The keys of the stream, found by the stream's id.
function Keys({ id }: { id: string }) {
  const t = useAdminStreams();
  const common = useCommon();
  const may = useMay();
  const query = api.useQuery('get', '/v1/admin/stream-keys', { params: { query: { q: id, pageSize: '100' } } },
    { refetchInterval: 15_000 });
  if (!query.data) return <Waiting query={query} />;
  const keys = query.data.items.filter(({ streamId }) => streamId === id);
  return (
    <Rows title={t('keys')} head={[t('key'), common('status'), t('lastUsed'), common('actions')]} empty={t('noKeys')}
      rows={keys.map((key) => ({
        key: key.id,
        cells: [`…${key.last4}`, <Tag key="status" of={key.status} />, time(key.lastUsedAt), key.status === 'ACTIVE' && may('admin:write')
          && (
          <ReasonButton key="revoke" label={t('revoke')} text={t('revokeText')}
            run={(reason) => unwrap(client.POST('/v1/admin/stream-keys/{id}/revoke',
              { params: { path: { id: key.id } }, body: { reason } }))} />
        )],
      }))} />
  );
}
