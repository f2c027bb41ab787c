import type { Order, OrderStatus } from '../../gen/api.js';
import { client } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { money, time, unitsOf } from '../lib/format.js';
import { Empty, Heading } from '../lib/parts.js';
import { useListState } from '../lib/table.js';
import { useCommon } from '../messages/common.js';
import { useSelling } from '../messages/selling.js';
import { OrderState, orderStatuses } from './order-status.js';
import { SellerNote } from './seller-note.js';

export default function Orders() {
  const t = useSelling();
  const common = useCommon();
  const [state] = useListState();
  const filter = {
    ...(orderStatuses.includes(state.status as OrderStatus) && { status: state.status as OrderStatus }),
    ...(state.customerExternalId && { customerExternalId: state.customerExternalId }), ...(state.streamId && { streamId: state.streamId }),
  };
  const list = useCursorList<Order>(['orders', filter], (query, signal) => (
    client.GET('/v1/me/commerce/orders', { params: { query: { ...query, ...filter } }, signal })
  ), 15_000);
  return (
    <>
      <Heading title={t('orders')} />
      <SellerNote />
      <CursorList<Order> name="orders" label={t('orders')} list={list}
        link={({ id }) => `/orders/${id}`} empty={<Empty text={t('noOrders')} />}
        filters={[
          { key: 'status', label: common('status'), options: orderStatuses.map((value) => ({ value, label: t(value) })) },
          { key: 'customerExternalId', label: t('buyerID') }, { key: 'streamId', label: t('streamID') },
        ]}
        columns={[
          { key: 'buyer', title: t('buyer'), value: (order) => order.customerEmail ?? order.customerExternalId },
          { key: 'status', title: common('status'), value: ({ status }) => t(status), render: ({ status }) => <OrderState of={status} /> },
          { key: 'total', title: t('total'), value: ({ totalCents, currency }) => unitsOf(totalCents, currency),
            render: ({ totalCents, currency }) => money(totalCents, currency) },
          { key: 'currency', title: t('currency'), value: ({ currency }) => currency.toUpperCase(), wide: true },
          { key: 'items', title: t('items'), value: ({ items }) => items.map(({ quantity, nameSnapshot }) => `${quantity} × ${nameSnapshot}`).join(', '), wide: true },
          { key: 'created', title: t('ordered'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt) },
        ]} />
    </>
  );
}
