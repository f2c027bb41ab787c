import { Button, Code, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Auction } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { money, safeLink, time } from '../lib/format.js';
import { Figure, Heading, Section, useChange, useConfirm } from '../lib/parts.js';
import { CopyText, ProblemNote } from '../lib/problem.js';
import { useAuctions } from '../messages/auctions.js';
import { AuctionBids } from './auction-bids.js';
import { AuctionState, TimeLeft } from './auction-parts.js';
import { nextBidCents, resultOf } from './auction-state.js';
import { useMay } from './identity.js';
import { useProducts, useStreams } from './names.js';
import { OrderState } from './order-status.js';
import { SellerNote } from './seller-note.js';

const liveMs = 2000;
const overMs = 15_000;
// Smaller differences of the clocks don't matter: the server's time comes in whole seconds.
const skewFromMs = 2000;

export default function AuctionPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useAuctions();
  const query = useQuery({
    queryKey: ['auction', id],
    queryFn: async ({ signal }) => {
      const asking = client.GET('/v1/me/commerce/auctions/{id}', { params: { path: { id } }, signal });
      const auction = await unwrap(asking);
      const skew = Date.parse((await asking).response.headers.get('Date') ?? '') - Date.now();
      return { auction, skewMs: Math.abs(skew) > skewFromMs ? skew : 0 };
    },
    refetchInterval: ({ state }) => (state.data?.auction.status === 'LIVE' ? liveMs : overMs),
  });
  const auction = query.data?.auction;
  const products = useProducts(auction ? [auction.productId] : []);
  if (!auction) return query.error ? <ProblemNote error={query.error} onRetry={() => void query.refetch()} /> : <Skeleton height={300} />;
  return (
    <Stack>
      <Heading title={products.get(auction.productId)?.name ?? t('auctions')}>
        <AuctionState of={auction.status} />
        <CallOff auction={auction} />
      </Heading>
      <SellerNote mb={0} />
      <Figures auction={auction} skewMs={query.data?.skewMs ?? 0} />
      {auction.orderId && <Winner orderID={auction.orderId} name={auction.bids[0]?.bidderName} />}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Details auction={auction} productName={products.get(auction.productId)?.name} />
        <AuctionBids auction={auction} />
      </SimpleGrid>
    </Stack>
  );
}

// Offered only before the first bid: the server refuses it afterwards.
function CallOff({ auction: { id, status, bids } }: { auction: Auction }) {
  const t = useAuctions();
  const may = useMay();
  const confirm = useConfirm();
  const callOff = useChange(() => (
    unwrap(client.POST('/v1/me/commerce/auctions/{id}/cancel', { params: { path: { id } } }))
  ), { done: t('calledOff') });
  if (status !== 'LIVE' || !may('commerce:write')) return null;
  if (bids.length > 0) return <Text size="sm" c="dimmed">{t('hasBid')}</Text>;
  return (
    <Button size="xs" color="red.9" loading={callOff.isPending}
      onClick={() => confirm(t('callOff'), t('callOffText'), () => callOff.mutate(undefined))}>
      {t('callOff')}
    </Button>
  );
}

function Figures({ auction, skewMs }: { auction: Auction; skewMs: number }) {
  const t = useAuctions();
  const { bids: [top], currency, status, endsAt } = auction;
  const result = resultOf(auction);
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }}>
      <Figure label={t('topBid')} value={top ? money(top.amountCents, currency) : status === 'LIVE' ? t('noBid') : '–'} />
      {result
        ? <Figure label={t('result')} value={t(result)} />
        : <Figure label={t('nextBid')} value={money(nextBidCents(auction), currency)} />}
      {status === 'LIVE'
        ? <Figure label={t('timeLeft')} value={<TimeLeft auction={auction} skewMs={skewMs} />} />
        : status !== 'CANCELLED' && <Figure label={t('ended')} value={time(endsAt)} />}
    </SimpleGrid>
  );
}

// The winner's order and its payment page.
function Winner({ orderID, name }: { orderID: string; name?: string }) {
  const t = useAuctions();
  const query = api.useQuery('get', '/v1/me/commerce/orders/{id}', { params: { path: { id: orderID } } }, { refetchInterval: overMs });
  const order = query.data;
  const page = safeLink(order?.checkoutUrl);
  return (
    <Section title={t('winner')} aside={order && <OrderState of={order.status} />}>
      <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
      <Group justify="space-between" gap="xs">
        <div>
          <Text fw={600}>{name ?? order?.customerExternalId ?? '–'}</Text>
          {order?.status === 'PENDING' && <Text size="sm" c="dimmed">{t('payUntil', { time: time(order.expiresAt) })}</Text>}
        </div>
        <Group gap="xs">
          {page && order?.status === 'PENDING' && <CopyText text={page} label={t('payPage')} />}
          <Link className="link" to={`/orders/${orderID}`}>{t('openOrder')}</Link>
        </Group>
      </Group>
    </Section>
  );
}

const endLabels = { LIVE: 'ends', ENDED: 'ended', SETTLED: 'ended', CANCELLED: 'plannedEnd' } as const;

function Details({ auction, productName }: { auction: Auction; productName?: string }) {
  const t = useAuctions();
  const may = useMay();
  const { currency, streamId, productId, startingBidCents, bidIncrementCents, antiSnipeSec, reservePriceCents, bids: [top] } = auction;
  const streamName = useStreams([streamId]).get(streamId)?.name ?? streamId;
  const reserve = reservePriceCents === undefined ? t('noReserve')
    : `${money(reservePriceCents, currency)} · ${t((top?.amountCents ?? -1) >= reservePriceCents ? 'reserveMet' : auction.status === 'LIVE' ? 'reserveOpen' : 'reserveMissed')}`;
  const facts: [string, ReactNode][] = [
    [t('product'), productName
      ? <Link className="link" to="/catalog" search={{ q: productName } as never}>{productName}</Link> : productId],
    [t('stream'), may('streams:read') ? (
      <Group gap="xs">
        <Link className="link" to={`/streams/${streamId}`}>{streamName}</Link>
        <Link className="link" to="/shopping" search={{ stream: streamId } as never}>{t('watchPage')}</Link>
      </Group>
    ) : streamName],
    [t('startingBid'), money(startingBidCents, currency)], [t('increment'), money(bidIncrementCents, currency)], [t('reserve'), reserve],
    [t('antiSnipe'), antiSnipeSec > 0 ? t('antiSnipeOf', { seconds: antiSnipeSec }) : t('off')],
    [t('startedAt'), time(auction.createdAt)], [t(endLabels[auction.status]), time(auction.endsAt)],
  ];
  return (
    <Section title={t('details')}>
      <Stack gap="xs">
        {facts.map(([label, value]) => (
          <Group key={label} justify="space-between" gap="xs">
            <Text size="sm" c="dimmed">{label}</Text><Text size="sm" component="div">{value}</Text>
          </Group>
        ))}
        <div>
          <Text size="sm" c="dimmed">{t('auctionID')}</Text>
          <Group gap="xs"><Code>{auction.id}</Code><CopyText text={auction.id} /></Group>
        </div>
      </Stack>
    </Section>
  );
}
