import { Alert, Anchor, Button, Code, Group, SimpleGrid, Stack, Table, Text, Timeline } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Order } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { money, number, safeLink, time } from '../lib/format.js';
import { Heading, Section, Waiting, useChange, useConfirm } from '../lib/parts.js';
import { CopyText } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useSelling } from '../messages/selling.js';
import { useMay, useMayCall } from './identity.js';
import { OrderState } from './order-status.js';
import { RefundButton } from './refund.js';

export default function OrderPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useSelling();
  const query = api.useQuery('get', '/v1/me/commerce/orders/{id}', { params: { path: { id } } }, { refetchInterval: 10_000 });
  const order = query.data;
  if (!order) return <Waiting query={query} />;
  const mismatch = order.paymentMismatch;
  return (
    <Stack>
      <Heading title={`${t('order')}: ${order.customerEmail ?? order.customerExternalId}`}>
        <OrderState of={order.status} />
        <OrderActions order={order} />
      </Heading>
      {mismatch && (
        <Alert variant="outline" color="orange" role="status" title={t('reviewText', {
          paid: money(mismatch.paidTotalCents, mismatch.paidCurrency), expected: money(mismatch.expectedTotalCents, order.currency),
        })} />
      )}
      <Lines order={order} />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Facts order={order} />
        <History order={order} />
      </SimpleGrid>
    </Stack>
  );
}

function OrderActions({ order }: { order: Order }) {
  const t = useSelling();
  const may = useMay();
  const mayCall = useMayCall();
  const confirm = useConfirm();
  const fulfil = useChange(() => unwrap(client.POST('/v1/me/commerce/orders/{id}/fulfil', { params: { path: { id: order.id } } })));
  if (!may('commerce:write')) return null;
  const canFulfil = (order.status === 'PAID' || order.status === 'PARTIALLY_REFUNDED' || (order.status === 'REVIEW' && order.refundedCents === 0)) && !order.fulfilledAt;
  return (
    <>
      {canFulfil && (
        <Button size="xs" loading={fulfil.isPending} onClick={() => confirm(t('fulfil'), t('fulfilText'), () => fulfil.mutate(undefined))}>{t('fulfil')}</Button>
      )}
      {mayCall('refundOrder') && <RefundButton order={order} />}
    </>
  );
}

function Lines({ order }: { order: Order }) {
  const t = useSelling();
  const { currency } = order;
  const sums: [string, number][] = [
    [t('subtotal'), order.subtotalCents],
    ...(order.discountCents > 0 ? [[`${t('discount')} ${order.discountCode ?? ''}`, -order.discountCents] as [string, number]] : []),
    [t('total'), order.totalCents],
  ];
  return (
    <Section title={t('items')}>
      <Table.ScrollContainer minWidth={0} scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'group', 'aria-label': t('items') } }}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('product')}</Table.Th><Table.Th ta="right">{t('quantity')}</Table.Th>
              <Table.Th ta="right" visibleFrom="sm">{t('unitPrice')}</Table.Th><Table.Th ta="right">{t('sum')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {order.items.map(({ productId, nameSnapshot, quantity, priceCents }) => (
              <Table.Tr key={productId}>
                <Table.Td>{nameSnapshot}</Table.Td><Table.Td ta="right">{number(quantity)}</Table.Td>
                <Table.Td ta="right" visibleFrom="sm">{money(priceCents, currency)}</Table.Td><Table.Td ta="right">{money(priceCents * quantity, currency)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Stack gap={4} mt="xs" ml="auto" maw={300}>
        {sums.map(([label, cents], index) => (
          <Group key={label} justify="space-between" px="xs">
            <Text size="sm" fw={index === sums.length - 1 ? 700 : undefined}>{label}</Text>
            <Text size="sm" fw={index === sums.length - 1 ? 700 : undefined}>{money(cents, currency)}</Text>
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

function Facts({ order }: { order: Order }) {
  const t = useSelling();
  const may = useMay();
  const page = safeLink(order.checkoutUrl);
  const stream = order.streamId && (may('streams:read') ? <Link className="link" to={`/streams/${order.streamId}`}>{t('openStream')}</Link> : order.streamId);
  const facts: [string, ReactNode][] = [
    [t('buyer'), order.customerEmail ?? '–'],
    [t('buyerID'), order.customerExternalId],
    [t('paid'), order.paidAt ? time(order.paidAt) : t('nothingPaid')],
    [t('refundedSum'), money(order.refundedCents, order.paymentMismatch?.paidCurrency ?? order.currency)],
    [t('fee'), money(order.applicationFeeCents, order.currency)],
    [t('inStream'), stream || t('outside')],
  ];
  return (
    <Section title={t('payment')}>
      <Stack gap="xs">
        {facts.map(([label, value]) => (
          <Group key={label} justify="space-between" gap="xs"><Text size="sm" c="dimmed">{label}</Text><Text size="sm" component="div">{value}</Text></Group>
        ))}
        {page && <Anchor href={page} target="_blank" rel="noreferrer" size="sm" underline="always">{t('payPage')}</Anchor>}
        <Copied label={t('orderID')} text={order.id} />
        {order.processorPaymentIntentId && <Copied label={t('paymentID')} text={order.processorPaymentIntentId} />}
      </Stack>
    </Section>
  );
}

function Copied({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <Text size="sm" c="dimmed">{label}</Text>
      <Group gap="xs"><Code style={{ overflowWrap: 'anywhere' }}>{text}</Code><CopyText text={text} /></Group>
    </div>
  );
}

function History({ order }: { order: Order }) {
  const t = useSelling();
  const common = useCommon();
  const currency = order.paymentMismatch?.paidCurrency ?? order.currency;
  const entries: { at: string | null; title: string; text?: string }[] = [
    { at: order.createdAt, title: t('ordered') }, { at: order.paidAt, title: t('paid') }, { at: order.fulfilledAt, title: t('handedOver') },
    ...order.refunds.map(({ createdAt, amountCents, status, reason, failureReason }) => ({
      at: createdAt, title: `${t('refundOf', { amount: money(amountCents, currency) })}: ${t(`refund${status}`)}`,
      text: [reason && `${common('reason')}: ${reason}`, failureReason].filter(Boolean).join('. '),
    })),
    ...order.disputes.map(({ openedAt, amountCents, currency: disputed, reason, status }) => ({
      at: openedAt, title: t('dispute', { amount: money(amountCents, disputed) }), text: `${reason}, ${t(`dispute${status}`)}`,
    })),
    ...(order.status === 'PENDING' ? [{ at: order.expiresAt, title: t('expires') }] : []),
  ];
  const dated = entries.filter(({ at }) => at).toSorted((a, b) => a.at!.localeCompare(b.at!));
  return (
    <Section title={t('timeline')}>
      <Timeline active={dated.length} bulletSize={14} lineWidth={2}>
        {dated.map(({ at, title, text }) => (
          <Timeline.Item key={`${title}${at}`} title={<Text size="sm" fw={600}>{title}</Text>}>
            {text && <Text size="sm">{text}</Text>}
            <Text size="xs" c="dimmed">{time(at)}</Text>
          </Timeline.Item>
        ))}
      </Timeline>
    </Section>
  );
}
