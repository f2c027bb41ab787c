import { Button } from '@mantine/core';
import { useState } from 'react';

import type { Auction, AuctionStatus } from '../../gen/api.js';
import { client } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { money, time, unitsOf } from '../lib/format.js';
import { Empty, Heading } from '../lib/parts.js';
import { useListState } from '../lib/table.js';
import { useAuctions } from '../messages/auctions.js';
import { useCommon } from '../messages/common.js';
import { NewAuction } from './auction-new.js';
import { AuctionState, TimeLeft } from './auction-parts.js';
import { auctionStatuses, resultOf } from './auction-state.js';
import { useMay } from './identity.js';
import { useProducts, useStreams } from './names.js';
import { SellerNote } from './seller-note.js';

// A called-off auction has no end: the planned one didn't come.
const endOf = (auction: Auction) => (
  auction.status === 'LIVE' ? <TimeLeft auction={auction} /> : auction.status === 'CANCELLED' ? '–' : time(auction.endsAt)
);

export default function Auctions() {
  const t = useAuctions();
  const common = useCommon();
  const may = useMay();
  const [state] = useListState();
  const [creating, setCreating] = useState(false);
  const filter = { ...(auctionStatuses.includes(state.status as AuctionStatus) && { status: state.status as AuctionStatus }) };
  const list = useCursorList<Auction>(['auctions', filter], (query, signal) => (
    client.GET('/v1/me/commerce/auctions', { params: { query: { ...query, ...filter } }, signal })
  ), 5000);
  const products = useProducts(list.rows?.map(({ productId }) => productId) ?? []);
  const streams = useStreams(list.rows?.map(({ streamId }) => streamId) ?? []);
  const result = (auction: Auction) => {
    const text = resultOf(auction);
    return text && t(text);
  };
  return (
    <>
      <Heading title={t('auctions')}>
        {may('commerce:write') && <Button size="xs" onClick={() => setCreating(true)} data-testid="new-auction">{t('newAuction')}</Button>}
      </Heading>
      <SellerNote />
      <CursorList<Auction> name="auctions" label={t('auctions')} list={list}
        link={({ id }) => `/auctions/${id}`} empty={<Empty text={t('noAuctions')} />}
        filters={[{ key: 'status', label: common('status'), options: auctionStatuses.map((value) => ({ value, label: t(value) })) }]}
        columns={[
          { key: 'name', title: t('product'), value: ({ productId }) => products.get(productId)?.name ?? productId },
          { key: 'status', title: common('status'), value: ({ status }) => t(status),
            render: ({ status }) => <AuctionState of={status} /> },
          { key: 'topBid', title: t('topBid'), value: ({ bids: [top], currency }) => top && unitsOf(top.amountCents, currency),
            render: ({ bids: [top], currency, status }) => (
              top ? money(top.amountCents, currency) : status === 'LIVE' ? t('noBid') : '–'
            ) },
          { key: 'currency', title: t('currency'), value: ({ currency }) => currency.toUpperCase(), wide: true },
          { key: 'bidder', title: t('bidder'), value: ({ bids: [top] }) => top?.bidderName, wide: true },
          { key: 'ends', title: t('ends'), value: ({ endsAt, status }) => (status === 'CANCELLED' ? null : endsAt), render: endOf },
          { key: 'result', title: t('result'), value: (auction) => result(auction), wide: true },
          { key: 'stream', title: t('stream'), value: ({ streamId }) => streams.get(streamId)?.name ?? streamId, wide: true },
        ]} />
      {creating && <NewAuction close={() => setCreating(false)} />}
    </>
  );
}
