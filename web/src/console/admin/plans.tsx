import { Button } from '@mantine/core';

import { client, unwrap } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { money, number, unitsOf } from '../lib/format.js';
import { Heading, useChange, useConfirm } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { Tag } from './shown.js';

export default function Plans() {
  const t = useAdmin();
  const common = useCommon();
  const word = useWord();
  const may = useMay();
  const confirm = useConfirm();
  const at = (id: string) => ({ params: { path: { id } } });
  const withdraw = useChange((id: string) => unwrap(client.POST('/v1/admin/plans/{id}/deactivate', at(id))), { done: common('done') });
  const offer = useChange((id: string) => unwrap(client.POST('/v1/admin/plans/{id}/activate', at(id))), { done: common('done') });
  return (
    <>
      <Heading title={t('plans')} />
      <AdminList name="plans" label={t('plans')} empty={t('noPlans')} get={(query) => client.GET('/v1/admin/plans', { params: { query } })}
        link={({ id }) => `/plans/${id}`}
        columns={[
          { key: 'name', title: common('name'), value: ({ name }) => name },
          { key: 'tier', title: common('plan'), value: ({ tier }) => tier, render: ({ tier }) => word(tier), wide: true },
          { key: 'price', title: t('price'), value: ({ priceCents, currency }) => unitsOf(priceCents, currency),
            render: ({ priceCents, currency }) => money(priceCents, currency) },
          { key: 'subscribers', title: t('subscribers'), value: ({ subscriberCount }) => subscriberCount, render: ({ subscriberCount }) => number(subscriberCount), wide: true },
          { key: 'active', title: common('status'), value: ({ active }) => active, render: ({ active }) => <Tag of={active ? 'ACTIVE' : 'INACTIVE'} /> },
        ]}
        actions={({ id, active }) => may('admin:billing') && (active
          ? <Button size="compact-xs" variant="default" onClick={() => confirm(t('deactivatePlan'), t('planText'), () => withdraw.mutate(id))}>{t('deactivatePlan')}</Button>
          : <Button size="compact-xs" variant="default" onClick={() => offer.mutate(id)}>{t('activatePlan')}</Button>)} />
    </>
  );
}
