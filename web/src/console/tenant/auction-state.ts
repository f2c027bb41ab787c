import { useEffect, useState } from 'react';

import type { Auction, AuctionStatus } from '../../gen/api.js';
import { duration } from '../lib/format.js';

export const auctionStatuses: AuctionStatus[] = ['LIVE', 'ENDED', 'SETTLED', 'CANCELLED'];

export const statusColours: Record<AuctionStatus, string> = { LIVE: 'red', ENDED: 'gray', SETTLED: 'green', CANCELLED: 'gray' };

// The message about an auction's result; null while it is LIVE.
export function resultOf({ status, winningBidId, bids }: Auction) {
  switch (status) {
    case 'LIVE': return null;
    case 'SETTLED': return 'resultPaid';
    case 'CANCELLED': return 'resultCancelled';
    default: return winningBidId ? 'resultWon' : bids.length > 0 ? 'resultReserve' : 'resultNoBids';
  }
}

// The smallest bid that the server accepts now.
export const nextBidCents = ({ bids, startingBidCents, bidIncrementCents }: Auction) => (
  bids[0] ? bids[0].amountCents + bidIncrementCents : startingBidCents
);

// The time now in milliseconds, each second.
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

const dayS = 86_400;

// A length of time with its days, for a countdown.
export function countdown(seconds: number, days: (values: { days: number; rest: string }) => string): string {
  return seconds < dayS ? duration(seconds) : days({ days: Math.floor(seconds / dayS), rest: duration(seconds % dayS) });
}
