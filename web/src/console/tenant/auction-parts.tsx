import { Badge } from '@mantine/core';

import type { Auction, AuctionStatus } from '../../gen/api.js';
import { useAuctions } from '../messages/auctions.js';
import { countdown, statusColours, useNow } from './auction-state.js';

export function AuctionState({ of }: { of: AuctionStatus }) {
  const t = useAuctions();
  return <Badge variant="dot" color={statusColours[of]} size="sm" miw="max-content" tt="none">{t(of)}</Badge>;
}

// Counts down to an auction's end. skewMs is the server's clock minus the browser's.
export function TimeLeft({ auction, skewMs = 0 }: { auction: Auction; skewMs?: number }) {
  const t = useAuctions();
  const now = useNow();
  const seconds = Math.ceil((Date.parse(auction.endsAt) - now - skewMs) / 1000);
  return <span role="timer">{seconds > 0 ? countdown(seconds, (values) => t('days', values)) : t('ending')}</span>;
}
