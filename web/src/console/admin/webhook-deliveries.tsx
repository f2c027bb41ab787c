import { Button } from '@mantine/core';
import { useParams } from '@tanstack/react-router';

import { client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { time } from '../lib/format.js';
import { Heading } from '../lib/parts.js';
import { useAdminSystem } from '../messages/admin-system.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { useRetry } from './retry.js';
import { Tag } from './shown.js';

export default function EndpointDeliveries() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useAdminSystem();
  const common = useCommon();
  const may = useMay();
  const retry = useRetry();
  return (
    <>
      <Heading title={t('endpointDeliveries')} />
      <AdminList name={`deliveries-${id}`} label={t('endpointDeliveries')} empty={t('noDeliveries')}
        get={(query) => client.GET('/v1/admin/webhooks/endpoints/{id}/deliveries', { params: { path: { id }, query } })}
        columns={[
          { key: 'event', title: t('event'), value: ({ event }) => event },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} /> },
          { key: 'attempts', title: t('attempts'), value: ({ attempts }) => attempts, wide: true },
          { key: 'answer', title: t('answer'), value: ({ responseStatus, error }) => responseStatus ?? error, wide: true },
          { key: 'next', title: t('nextAttempt'), value: ({ nextAttemptAt }) => nextAttemptAt,
            render: ({ nextAttemptAt }) => time(nextAttemptAt), wide: true },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt),
            wide: true },
        ]}
        actions={(row) => may('admin:write') && <Button size="compact-xs" variant="default"
          onClick={() => retry(row.id)}>{t('retryNow')}</Button>} />
    </>
  );
}
