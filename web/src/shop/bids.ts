import type { ShowAuction } from '../gen/api.js';
import type { ShopApi } from './api.js';
import type { Attempts } from './attempts.js';
import type { Memory } from './memory.js';

/** The viewer's part in an auction. `sending`: the answer to the own bid isn't known yet. */
export type Part = 'none' | 'sending' | 'leading' | 'outbid' | 'won' | 'lost' | 'unsold';

const slot = 'bids';
const most = 200; // own bids that are remembered

/** The viewer's bids in a show. They are recognised by their ids, so other viewers' names don't matter. */
export class Bids {
  #sending = new Set<string>(); // ids of auctions
  #mine: { auctionId: string; bidId: string }[];

  constructor(
    private readonly api: Pick<ShopApi, 'bid'>,
    private readonly attempts: Attempts,
    private readonly memory: Memory,
  ) {
    this.#mine = memory.get<{ auctionId: string; bidId: string }[]>(slot) ?? [];
  }

  /** Places a bid. After a network error the same call repeats the bid: it doesn't make a second one. */
  async place(auctionId: string, amountCents: number, bidderName: string | null): Promise<ShowAuction> {
    this.#sending.add(auctionId);
    try {
      const auction = await this.attempts.once(`bid.${auctionId}.${amountCents}`, (key) => this.api.bid(auctionId, { amountCents, bidderName }, key));
      if (auction.topBidId) this.#mine = [...this.#mine, { auctionId, bidId: auction.topBidId }].slice(-most);
      this.memory.set(slot, this.#mine);

      return auction;
    } finally {
      this.#sending.delete(auctionId);
    }
  }

  /** The viewer's part in an auction. */
  partIn(auction: ShowAuction): Part {
    const own = this.#mine.filter((bid) => bid.auctionId === auction.id);
    if (this.#sending.has(auction.id)) return 'sending';
    if (own.length === 0) return 'none';
    const isTop = own.some((bid) => bid.bidId === auction.topBidId);
    if (auction.status === 'LIVE') return isTop ? 'leading' : 'outbid';

    if (auction.winningBidId === null) return 'unsold';

    return own.some((bid) => bid.bidId === auction.winningBidId) ? 'won' : 'lost';
  }
}
