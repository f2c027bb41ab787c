import { client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { number, time } from '../lib/format.js';
import { Heading } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { Tag, useOptions } from './shown.js';

export const tenantStatuses = ['TRIAL', 'ACTIVE', 'PAST_DUE', 'SUSPENDED', 'CANCELLED'];
export const plans = ['FREE', 'STARTER', 'PRO', 'ENTERPRISE'] as const;

export default function Tenants() {
  const t = useAdmin();
  const common = useCommon();
  const word = useWord();
  return (
    <>
      <Heading title={t('tenants')} />
      <AdminList name="tenants" label={t('tenants')} empty={t('noTenants')} get={(query) => client.GET('/v1/admin/tenants', { params: { query } })}
        link={({ id }) => `/tenants/${id}`}
        filters={[
          { key: 'q', label: common('search') }, { key: 'status', label: common('status'), options: useOptions(tenantStatuses) },
          { key: 'plan', label: common('plan'), options: useOptions(plans) },
        ]}
        columns={[
          { key: 'name', title: common('name'), value: ({ name }) => name },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} /> },
          { key: 'plan', title: common('plan'), value: ({ plan }) => plan, render: ({ plan }) => word(plan) },
          { key: 'users', title: t('members'), value: ({ userCount }) => userCount, render: ({ userCount }) => number(userCount), wide: true },
          { key: 'live', title: t('live'), value: ({ liveStreamCount }) => liveStreamCount, render: ({ liveStreamCount }) => number(liveStreamCount), wide: true },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt), wide: true },
        ]} />
    </>
  );
}
