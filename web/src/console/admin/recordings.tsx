import { Group } from '@mantine/core';

import { client, unwrap } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { bytes, date, duration, time } from '../lib/format.js';
import { Heading, ReasonButton } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { RetentionButton } from './retention.js';
import { Tag, useOptions } from './shown.js';

export default function Recordings() {
  const t = useAdmin();
  const common = useCommon();
  const may = useMay();
  return (
    <>
      <Heading title={t('recordings')} />
      <AdminList name="recordings" label={t('recordings')} empty={t('noneMatch')} get={(query) => client.GET('/v1/admin/recordings', { params: { query } })}
        filters={[
          { key: 'status', label: common('status'), options: useOptions(['RECORDING', 'PROCESSING', 'READY', 'FAILED', 'DELETED']) }, { key: 'tenantId', label: t('tenantID') },
        ]}
        columns={[
          { key: 'started', title: t('started'), value: ({ startedAt }) => startedAt, render: ({ startedAt }) => time(startedAt) },
          { key: 'tenant', title: t('tenant'), value: ({ tenantName }) => tenantName },
          { key: 'stream', title: t('stream'), value: ({ streamName, sessionId }) => streamName ?? sessionId, wide: true },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} />, wide: true },
          { key: 'length', title: t('length'), value: ({ durationSec }) => durationSec, render: ({ durationSec }) => duration(durationSec), wide: true },
          { key: 'size', title: t('size'), value: ({ sizeBytes }) => sizeBytes, render: ({ sizeBytes }) => bytes(sizeBytes), wide: true },
          { key: 'retain', title: t('retain'), value: ({ retainUntil }) => retainUntil, render: ({ retainUntil }) => date(retainUntil), wide: true },
        ]}
        actions={(row) => may('admin:write') && row.status !== 'DELETED' && (
          <Group gap={4} justify="end" wrap="nowrap">
            <RetentionButton recording={row} />
            {!row.legalHold && (
              <ReasonButton label={t('removeRecording')} text={t('removeText')}
                run={(reason) => unwrap(client.DELETE('/v1/admin/recordings/{id}', { params: { path: { id: row.id } }, body: { reason } }))} />
            )}
          </Group>
        )} />
    </>
  );
}
