import type { ChatMessage, ChatMessageCreatedData, Show, ShowAuction } from '../gen/api.js';
import type { Publication } from '../rooms/realtime.js';

/** A message of the chat. `body` is null after it was deleted. */
export type ChatLine = Pick<ChatMessage, 'id' | 'authorId' | 'authorName' | 'createdAt'> & { body: string | null };

/** How publications arrive. `reconnecting`: none arrive for now. */
export type Connection = 'connecting' | 'connected' | 'reconnecting';

/** All that a page shows of a live show. States are never changed: each change makes a new one. */
export interface LiveState {
  show: Show;
  /** The newest messages, oldest first; at most 200. */
  chat: readonly ChatLine[];
  connection: Connection;
}

const mostMessages = 200;
const keptMs = 1000; // the products in a show were read at most so long before its serverTime

/** The state after a publication, and whether the publication names something that is not in the state: then load the show again. */
export interface Applied {
  state: LiveState;
  incomplete: boolean;
}

/** Applies a publication. Publications may be applied again, and in another order: the result is the same. */
export function apply(state: LiveState, publication: Publication): Applied {
  const { show } = state;
  const changed = (more: Partial<Show>, incomplete = false): Applied => ({ state: { ...state, show: { ...show, ...more } }, incomplete });
  const knows = (productId: string): boolean => show.products.some((product) => product.id === productId);
  switch (publication.type) {
    case 'prod-pin': {
      const pinned = publication.data.id || null;

      return changed({ pinnedProductId: pinned }, pinned !== null && !knows(pinned));
    }
    case 'stock-tick': {
      const { productId, remaining } = publication.data;

      return changed({ products: show.products.map((product) => (product.id === productId ? { ...product, remaining } : product)) });
    }
    case 'discount-drop': {
      const { code } = publication.data;

      return changed({ drops: [publication.data, ...show.drops.filter((drop) => drop.code !== code)].slice(0, 20) });
    }
    case 'auction-started':
    case 'auction-ended': {
      const auction = publication.data;

      return changed({ auctions: withAuction(show.auctions, auction) }, !knows(auction.productId));
    }
    case 'auction-bid': {
      const { auctionId } = publication.data;
      const auctions = show.auctions.map((auction) => (auction.id === auctionId ? withBid(auction, publication.data) : auction));

      return changed({ auctions }, !show.auctions.some((auction) => auction.id === auctionId));
    }
    case 'show-updated': {
      const { status, viewerCount } = publication.data;
      const begins = status === 'LIVE' && show.status !== 'LIVE' && show.status !== 'RECONNECTING';

      return changed({ status, viewerCount, ...(begins ? { endedAt: null } : {}) }, begins || (status === 'ENDED' && show.status !== 'ENDED'));
    }
    case 'products-updated': {
      if (Date.parse(publication.data.serverTime) < Date.parse(show.serverTime) - keptMs) return changed({});
      const news = new Map(publication.data.products.map((product) => [product.id, product]));
      const unknown = publication.data.products.some(({ id, active }) => active && !knows(id));

      return changed({ products: show.products.map((product) => news.get(product.id) ?? product) }, news.size === 0 || unknown);
    }
    case 'chat.message':
      return { state: { ...state, chat: withMessages(state.chat, [publication.data]) }, incomplete: false };
    case 'chat.edited': {
      const { id, body } = publication.data;

      return { state: { ...state, chat: state.chat.map((line) => (line.id === id ? { ...line, body } : line)) }, incomplete: false };
    }
    case 'chat.deleted': {
      const { id } = publication.data;

      return { state: { ...state, chat: state.chat.map((line) => (line.id === id ? { ...line, body: null } : line)) }, incomplete: false };
    }
    default:
      return { state, incomplete: false };
  }
}

/** Adds messages in the order of their ids, which is that of time. A message with a known id replaces it. */
export function withMessages(chat: readonly ChatLine[], more: readonly (ChatMessage | ChatMessageCreatedData | ChatLine)[]): ChatLine[] {
  const byId = new Map(chat.map((line) => [line.id, line]));
  for (const { id, authorId, authorName, createdAt, body } of more) {
    // A deletion that was already received stays.
    if (byId.get(id)?.body !== null) byId.set(id, { id, authorId, authorName, createdAt, body: body ?? null });
  }

  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(-mostMessages);
}

/** Adds an auction or replaces it by a newer state: an ended auction doesn't become live again. */
export function withAuction(auctions: readonly ShowAuction[], auction: ShowAuction): ShowAuction[] {
  const before = auctions.find((one) => one.id === auction.id);
  if (!before) return [auction, ...auctions].slice(0, 50);
  if (before.status !== 'LIVE' && auction.status === 'LIVE') return [...auctions];
  if (auction.status === 'LIVE' && (before.topBidCents ?? -1) > (auction.topBidCents ?? -1)) return [...auctions];

  return auctions.map((one) => (one.id === auction.id ? auction : one));
}

interface Bid {
  bidId: string;
  amountCents: number;
  bidderName: string;
  endsAt: string;
}

function withBid(auction: ShowAuction, bid: Bid): ShowAuction {
  if (bid.amountCents <= (auction.topBidCents ?? -1)) return auction;

  return {
    ...auction, topBidCents: bid.amountCents, topBidderName: bid.bidderName, topBidId: bid.bidId,
    minimumBidCents: bid.amountCents + auction.bidIncrementCents,
    endsAt: Date.parse(bid.endsAt) > Date.parse(auction.endsAt) ? bid.endsAt : auction.endsAt,
  };
}
