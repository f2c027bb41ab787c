import { Group, SimpleGrid, Stack } from '@mantine/core';

import { api } from '../lib/api.js';
import { bytes, number, time } from '../lib/format.js';
import { Empty, Figure, Heading, Waiting } from '../lib/parts.js';
import { DataList } from '../lib/table.js';
import { useAdminSystem } from '../messages/admin-system.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { Rows, Tag } from './shown.js';

export default function Health() {
  const t = useAdminSystem();
  const common = useCommon();
  const word = useWord();
  const query = api.useQuery('get', '/v1/admin/system/health', {}, { refetchInterval: 10_000 });
  return (
    <Stack>
      <Heading title={t('health')}>{query.data && <Tag of={query.data.status} />}</Heading>
      {!query.data ? <Waiting query={query} /> : (
        <>
          <Rows title={t('checks')} head={[t('part'), common('status'), t('took'), t('engine'), t('message')]}
            rows={query.data.checks.map(({ name, status, durationMs, engine, message }) => ({
              key: name, cells: [name, <Tag key="status" of={status} />, `${number(durationMs)} ms`, engine, message ?? '–'],
            }))} />
          <Rows title={t('servers')} head={[t('node'), common('status'), t('version'), t('kind'), t('load'), t('startedAt'), t('seen')]}
            rows={query.data.nodes.map((node) => ({
              key: node.id,
              cells: [node.id, <Tag key="status" of={node.status} />, node.version, node.roles.map(word).join(', '),
                `${number(node.liveStreams)} · ${number(node.participants)} · ${number(node.viewers)}`, time(node.startedAt),
                  time(node.seenAt)],
            }))} />
        </>
      )}
      <Database />
    </Stack>
  );
}

function Database() {
  const t = useAdminSystem();
  const common = useCommon();
  const query = api.useQuery('get', '/v1/admin/system/database/stats', {}, { refetchInterval: 60_000 });
  if (!query.data) return <Waiting query={query} />;
  const { totalBytes, connections, maxConnections, migration, version, tables } = query.data;
  return (
    <>
      <Group component="h2" fz="h4" m={0}>{t('database')}</Group>
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label={t('size')} value={bytes(totalBytes)} />
        <Figure label={t('connections')} value={`${number(connections)} / ${number(maxConnections)}`} />
        <Figure label={t('migration')} value={String(migration)} />
        <Figure label={t('version')} value={version.split(' ')[0]} />
      </SimpleGrid>
      <DataList name="database" label={t('database')} rows={tables.map((table) => ({ ...table, id: table.name }))}
        fetching={query.isFetching}
        empty={<Empty text={common('empty')} />}
        columns={[
          { key: 'table', title: t('table'), value: ({ name }) => name },
          { key: 'rows', title: t('rows'), value: ({ rows }) => rows, render: ({ rows }) => number(rows) },
          { key: 'size', title: t('size'), value: (row) => row.totalBytes, render: (row) => bytes(row.totalBytes) },
          { key: 'indexes', title: t('indexes'), value: ({ indexBytes }) => indexBytes, render: ({ indexBytes }) => bytes(indexBytes),
            wide: true },
          { key: 'dead', title: t('dead'), value: ({ deadRows }) => deadRows, render: ({ deadRows }) => number(deadRows), wide: true },
          { key: 'vacuum', title: t('vacuum'), value: ({ lastVacuumAt }) => lastVacuumAt, render: ({ lastVacuumAt }) => time(lastVacuumAt),
            wide: true },
        ]} />
    </>
  );
}
