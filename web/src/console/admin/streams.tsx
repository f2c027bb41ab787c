import { client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { number, time } from '../lib/format.js';
import { Heading } from '../lib/parts.js';
import { useAdminStreams } from '../messages/admin-streams.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { Tag, useOptions } from './shown.js';

// All streams that were on air at least once; those that never were, with the filter.
export default function StreamHistory() {
  const t = useAdminStreams();
  const common = useCommon();
  const word = useWord();
  const statuses = useOptions(['LIVE', 'RECONNECTING', 'ENDED', 'IDLE']);
  return (
    <>
      <Heading title={t('streams')} />
      <AdminList name="streams" label={t('streams')} empty={t('streamsEmpty')}
        get={(query) => client.GET('/v1/admin/streams/history', { params: { query } })} link={({ id }) => `/streams/${id}`}
        filters={[{ key: 'status', label: common('status'), options: statuses }, { key: 'tenantId', label: t('tenantID') }]}
        columns={[
          { key: 'name', title: common('name'), value: ({ name }) => name },
          { key: 'tenant', title: t('tenant'), value: ({ tenantName }) => tenantName, wide: true },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} />,
            wide: true },
          { key: 'viewers', title: t('viewers'), value: ({ viewerCount }) => viewerCount, render: ({ viewerCount }) => number(viewerCount),
            wide: true },
          { key: 'mode', title: t('mode'), value: ({ mode }) => mode, render: ({ mode }) => word(mode), wide: true },
          { key: 'started', title: t('started'), value: ({ startedAt }) => startedAt, render: ({ startedAt }) => time(startedAt) },
          { key: 'ended', title: t('ended'), value: ({ endedAt }) => endedAt, render: ({ endedAt }) => time(endedAt), wide: true },
        ]} />
    </>
  );
}
