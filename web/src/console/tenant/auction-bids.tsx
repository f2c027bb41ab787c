import { Table, Text } from '@mantine/core';

import type { Auction, AuctionBidData, Bid, EventRecord } from '../../gen/api.js';
import { client } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { exactTime, money } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { Section } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useAuctions } from '../messages/auctions.js';
import { useMay } from './identity.js';

const liveMs = 3000;

// An auction has its top bid only. The earlier ones are in its events, which are kept for 30 days.
export function AuctionBids({ auction }: { auction: Auction }) {
  const history = useMay()('webhooks:read');
  return history ? <History auction={auction} /> : <Bids bids={auction.bids} currency={auction.currency} />;
}

function History({ auction: { id, status, bids, currency } }: { auction: Auction }) {
  const list = useCursorList<EventRecord>(['auction-bids', id], (query, signal) => (
    client.GET('/v1/me/events', { params: { query: { ...query, subject: id, event: ['auction.bid'] } }, signal })
  ), status === 'LIVE' ? liveMs : undefined);
  const earlier = list.rows?.map(({ data }) => (data as unknown as AuctionBidData).bid) ?? [];
  const all = [...bids.filter((top) => !earlier.some((bid) => bid.id === top.id)), ...earlier];
  return <Bids bids={all} currency={currency} list={list} />;
}

type BidList = ReturnType<typeof useCursorList<EventRecord>>;

function Bids({ bids, currency, list }: { bids: Bid[]; currency: string; list?: BidList }) {
  const t = useAuctions();
  return (
    <Section title={t('history')} aside={list?.hasNextPage ? undefined : <Text size="sm" c="dimmed">{bids.length}</Text>}>
      <ProblemNote error={list?.error} onRetry={() => void list?.refetch()} />
      {bids.length === 0 ? <Text size="sm" c="dimmed">{t('noBids')}</Text> : (
        <Table.ScrollContainer minWidth={0} mah={420}
          scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'group', 'aria-label': t('history') } }}>
          <Table aria-label={t('history')}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t('bidder')}</Table.Th><Table.Th ta="right">{t('amount')}</Table.Th><Table.Th ta="right">{t('at')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {bids.map(({ id, bidderName, bidderExternalId, amountCents, createdAt }, index) => (
                <Table.Tr key={id} fw={index === 0 ? 700 : undefined}>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>
                    {bidderName}<Text size="xs" c="dimmed">{bidderExternalId}</Text>
                  </Table.Td>
                  <Table.Td ta="right">{money(amountCents, currency)}</Table.Td><Table.Td ta="right">{exactTime(createdAt)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {list && <Text size="xs" c="dimmed" mt="xs">{t('historyHint')}</Text>}
      {list && <MoreButton list={list} />}
    </Section>
  );
}
