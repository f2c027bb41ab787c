import { client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { time } from '../lib/format.js';
import { Heading } from '../lib/parts.js';
import { useAdminSupport } from '../messages/admin-support.js';
import { useCommon } from '../messages/common.js';
import { useMyID } from './gate.js';
import { Tag, useOptions } from './shown.js';

export const ticketStatuses = ['OPEN', 'PENDING', 'RESOLVED', 'CLOSED'] as const;
export const priorities = ['LOW', 'NORMAL', 'HIGH', 'URGENT'] as const;

export default function Tickets() {
  const t = useAdminSupport();
  const common = useCommon();
  const me = useMyID();
  const statuses = useOptions(ticketStatuses);
  const urgencies = useOptions(priorities);
  const assigned = (id: string | null) => (id === null ? t('unassigned') : id === me ? t('me') : t('another'));
  return (
    <>
      <Heading title={t('tickets')} />
      <AdminList name="tickets" label={t('tickets')} empty={t('ticketsEmpty')}
        get={(query) => client.GET('/v1/admin/tickets', { params: { query } })}
        link={({ id }) => `/tickets/${id}`}
        filters={[
          { key: 'status', label: common('status'), options: statuses }, { key: 'priority', label: t('priority'), options: urgencies },
          { key: 'tenantId', label: t('tenantID') },
        ]}
        columns={[
          { key: 'name', title: t('subject'), value: ({ number, subject }) => `#${number} ${subject}` },
          { key: 'tenant', title: t('tenant'), value: ({ tenantName }) => tenantName, wide: true },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} /> },
          { key: 'priority', title: t('priority'), value: ({ priority }) => priority, render: ({ priority }) => <Tag of={priority} />,
            wide: true },
          { key: 'assigned', title: t('assigned'), value: ({ assigneeId }) => assigned(assigneeId), wide: true },
          { key: 'last', title: t('lastMessage'), value: ({ lastMessageAt }) => lastMessageAt,
            render: ({ lastMessageAt }) => time(lastMessageAt), wide: true },
        ]} />
    </>
  );
}
