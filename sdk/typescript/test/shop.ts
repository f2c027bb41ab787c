/**
 * Checks the calculations of `showfloor/shop` without a server: the reducer, the clock, repeated requests and the cart. If a
 * check fails, it exits with 1 and a message.
 *
 *     node dist/test/shop.js
 */
import { ApiError, Attempts, Bids, Cart, Clock, apply, memoryOf, type LiveState, type Memory } from '../src/shop/index.js';
import { Renewal } from '../src/shop/renewal.js';
import type { Show, ShowAuction, ShowCart, ShowProduct } from '../src/gen/api.js';

function equal(got: unknown, want: unknown, what: string): void {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`);
}

const mug: ShowProduct = {
  id: 'prod_mug', externalId: 'MUG', name: 'Mug', description: '', imageUrl: null, priceCents: 1999, compareAtCents: null, currency: 'usd', remaining: 5, low: false, active: true,
};
const auction: ShowAuction = {
  id: 'auc_1', productId: 'prod_mug', currency: 'usd', status: 'LIVE', endsAt: '2026-01-01T00:01:00Z', antiSnipeSec: 10, minimumBidCents: 1000,
  bidIncrementCents: 100, topBidCents: null, topBidderName: null, topBidId: null, winningBidId: null,
};
const show: Show = {
  id: 'str_1', name: 'Launch', status: 'LIVE', scheduledAt: null, startedAt: null, endedAt: null, serverTime: '2026-01-01T00:00:00Z', viewerCount: 3,
  posterUrl: null, brand: { name: 'Acme', logoUrl: null, primaryColor: null, accentColor: null }, canBuy: true, pinnedProductId: null, products: [mug],
  auctions: [auction], drops: [], replayId: null, realtimeVideo: false,
};
const state: LiveState = { show, chat: [], connection: 'connected' };
const bid = (id: string, amountCents: number, endsAt = auction.endsAt) =>
  ({ type: 'auction-bid', data: { auctionId: 'auc_1', bidId: id, amountCents, bidderName: 'Bo L.', endsAt } }) as const;

function reducer(): void {
  const pinned = apply(state, { type: 'prod-pin', data: { id: 'prod_mug' } });
  equal([pinned.state.show.pinnedProductId, pinned.incomplete], ['prod_mug', false], 'a pin');
  equal(apply(pinned.state, { type: 'prod-pin', data: { id: '' } }).state.show.pinnedProductId, null, 'nothing is pinned any more');
  equal(apply(state, { type: 'prod-pin', data: { id: 'prod_new' } }).incomplete, true, 'an unknown product makes the state incomplete');
  equal(apply(state, { type: 'stock-tick', data: { productId: 'prod_mug', remaining: 2 } }).state.show.products[0]?.remaining, 2, 'a stock tick');
  equal(state.show.products[0]?.remaining, 5, 'the former state is unchanged');

  const first = apply(state, bid('bid_1', 1000)).state;
  const late = apply(first, bid('bid_2', 1100, '2026-01-01T00:01:10Z')).state;
  const repeated = apply(apply(late, bid('bid_1', 1000)).state, bid('bid_2', 1100)).state;
  const { topBidId, minimumBidCents, endsAt } = repeated.show.auctions[0]!;
  equal([topBidId, minimumBidCents, endsAt], ['bid_2', 1200, '2026-01-01T00:01:10Z'], 'bids may arrive again, and in another order');
  const ended = apply(repeated, { type: 'auction-ended', data: { ...auction, status: 'ENDED', topBidId: 'bid_2', topBidCents: 1100 } }).state;
  equal(apply(ended, { type: 'auction-started', data: auction }).state.show.auctions[0]?.status, 'ENDED', 'an ended auction stays ended');

  const line = { id: 'msg_2', channelId: 'str_1', authorId: 'bo', authorName: 'Bo', body: 'Hi', mentions: [], createdAt: '2026-01-01T00:00:00Z' };
  const said = apply(apply(state, { type: 'chat.message', data: line }).state, { type: 'chat.message', data: { ...line, id: 'msg_1' } }).state;
  equal(said.chat.map(({ id }) => id), ['msg_1', 'msg_2'], 'messages are in the order of their ids');
  const gone = apply(said, { type: 'chat.deleted', data: { id: 'msg_2', channelId: 'str_1', redactedBy: 'ada' } } as never).state;
  equal(apply(gone, { type: 'chat.message', data: line }).state.chat.map(({ body }) => body), ['Hi', null], 'a deleted message stays deleted');
  equal(apply(state, { type: 'show-updated', data: { status: 'ENDED', viewerCount: 0 } }).incomplete, true, 'the end of a show is read again');
  const mug = state.show.products[0]!;
  const products = [{ ...mug, priceCents: 900 }];
  const serverTime = new Date(Date.parse(state.show.serverTime) + 1000).toISOString();
  const cheaper = apply(state, { type: 'products-updated', data: { serverTime, products } });
  equal([cheaper.state.show.products[0]?.priceCents, cheaper.incomplete], [900, false], 'a changed price');
  const others = [{ ...mug, id: 'prod_gone', active: false }, { ...mug, id: 'prod_new' }];
  const priceAt = (ms: number): number | undefined => apply(state, {
    type: 'products-updated', data: { serverTime: new Date(Date.parse(state.show.serverTime) + ms).toISOString(), products },
  }).state.show.products[0]?.priceCents;
  equal([priceAt(-1001), priceAt(-1000)], [mug.priceCents, 900], 'an older price, and one that may be newer: the server keeps an answer for a second');
  const updated = (some: typeof others): boolean => apply(state, { type: 'products-updated', data: { serverTime, products: some } }).incomplete;
  equal([updated(others.slice(0, 1)), updated(others), updated([])], [false, true, true], 'a new product, and many changes, are read');
  equal(apply(state, { type: 'not-known-yet', data: {} } as never).state === state, true, 'unknown types are ignored');
}

function clock(): void {
  let local = 1000;
  const at = (seconds: number): number => Date.UTC(2026, 0, 1, 0, 0, seconds);
  const c = new Clock(() => local);
  c.learn({ server: at(10), sent: 600, received: 1000 });
  equal(c.now(), at(10) + 200, 'half of the round trip is added');
  local += 5000;
  equal(c.left('2026-01-01T00:00:20Z'), 4800, 'it runs with the monotonic clock, although Date.now() is years away');
  c.learn({ server: at(14.1), sent: 5990, received: 6000 });
  equal(c.now(), at(15.2), 'an answer from a cache, a second late, does not set the clock back');
  c.learn({ server: at(15.3), sent: 5990, received: 6000 });
  equal(c.now(), at(15.3) + 5, 'a short round trip is preferred');
  c.forget();
  c.learn({ server: at(3600), sent: 6000, received: 6000 });
  equal(c.now(), at(3600), 'after sleep the next answer alone counts');
}

/** A token whose signature is not checked here. */
function ticket(sub: string, exp: number, name = sub): string {
  return `e30.${btoa(JSON.stringify({ room: 'str_1', sub, name, exp: exp / 1000 }))}.sig`;
}

async function renewal(): Promise<void> {
  let local = 0;
  const start = Date.UTC(2026, 0, 1);
  const minute = 60_000;
  const c = new Clock(() => local);
  let next: string | undefined;
  const asked: string[] = [];
  const got: string[] = [];
  const holder = new Renewal(ticket('bo', start + 60 * minute), c, (expiresAt) => {
    asked.push(expiresAt.toISOString());

    return next === undefined ? Promise.reject(new Error('the shop is away')) : Promise.resolve(next);
  }, (token) => got.push(token));
  holder.look();
  equal(asked.length, 0, 'without the server\'s time nothing is renewed');
  c.learn({ server: start, sent: 0, received: 0 });
  holder.look();
  local = 49 * minute;
  holder.look();
  equal(asked.length, 0, '11 minutes before the end the token stays');
  local = 51 * minute;
  holder.look();
  holder.look();
  await new Promise((done) => setTimeout(done));
  equal(asked, ['2026-01-01T01:00:00.000Z'], 'the shop is asked once in 15 seconds');
  local += 20_000;
  next = ticket('cleo', start + 600 * minute);
  holder.look();
  await new Promise((done) => setTimeout(done));
  equal([got.length, holder.ticket?.userId], [0, 'bo'], 'another viewer\'s token is ignored');
  local = 61 * minute;
  next = ticket('bo', start + 420 * minute, 'Bo');
  equal(await holder.obtain(), next, 'an expired token is renewed before it is used');
  equal([got.length, holder.ticket?.displayName], [1, 'Bo'], 'and announced');
}

function blockedMemory(): Memory {
  return memoryOf(() => {
    throw new Error('blocked');
  });
}

async function attempts(): Promise<void> {
  const memory = blockedMemory();
  equal(memory.lasting, false, 'blocked storage does not last');
  const keys: string[] = [];
  const failing = (error: ApiError) => async (key: string): Promise<string> => {
    keys.push(key);
    throw error;
  };
  const once = new Attempts(memory, () => Promise.resolve());
  const lost = new ApiError(0, 'network', '', 0);
  await once.once('checkout', failing(lost)).catch(() => undefined);
  await once.once('checkout', async (key) => keys.push(key));
  equal([keys.length, new Set(keys).size], [5, 1], 'all attempts without an answer have one key');
  await once.once('checkout', async (key) => keys.push(key));
  equal(new Set(keys).size, 2, 'after an answer there is a new key');
  const refused = new ApiError(400, 'insufficient_stock', '', 0);
  for (let i = 0; i < 2; i++) await once.once('bid', failing(refused)).catch(() => undefined);
  equal(new Set(keys).size, 4, 'a refusal is an answer');
  for (let i = 0; i < 2; i++) await once.once('pay', failing(new ApiError(503, 'processor_unavailable', 'order ord_1 may exist', 0))).catch(() => undefined);
  equal(new Set(keys).size, 5, 'the key stays as long as the order may exist');
}

async function cart(): Promise<void> {
  const stored: ShowCart[] = [];
  let answer: (items: { productId: string; quantity: number }[]) => ShowCart = (items) => ({
    items: items.map(({ productId, quantity }) => ({ productId, quantity, product: mug, lineCents: quantity * 1999, problem: null })), currency: 'usd',
    subtotalCents: 0, discountCents: 0, totalCents: 0, discountCode: null, discountRefusal: null, updatedAt: null,
  });
  const c = new Cart({
    cart: () => Promise.reject(new Error('not used')),
    storeCart: async ({ items }) => {
      const made = answer(items);
      stored.push(made);

      return made;
    },
  }, 0);
  c.add(mug);
  c.add(mug, 2);
  equal([c.units, c.view.saving, c.view.subtotalCents], [3, true, 5997], 'changes are shown at once');
  await c.flush();
  equal([stored.length, stored[0]?.items[0]?.quantity, c.view.saving], [1, 3, false], 'two changes are stored together');
  let refusal = '';
  c.on('refused', ({ code }) => (refusal = code));
  answer = () => {
    throw new ApiError(404, 'not_found', 'product not found', 0);
  };
  c.set(mug.id, 9);
  await c.flush();
  equal([refusal, c.units], ['not_found', 3], 'a refused change is taken back');
}

async function bids(): Promise<void> {
  const memory = blockedMemory();
  const top = { ...auction, topBidId: 'bid_1', topBidCents: 1000 };
  const b = new Bids({ bid: async () => top }, new Attempts(memory), memory);
  equal(b.partIn(auction), 'none', 'no bid');
  const placed = b.place('auc_1', 1000, 'Bo');
  equal(b.partIn(top), 'sending', 'the publication of the own bid arrives before the answer');
  await placed;
  equal([b.partIn(top), b.partIn({ ...top, topBidId: 'bid_2' })], ['leading', 'outbid'], 'own bids are known by id');
  const ends = [null, 'bid_1', 'bid_2'].map((winningBidId) => b.partIn({ ...top, status: 'ENDED', winningBidId }));
  equal(ends, ['unsold', 'won', 'lost'], 'a top bid below the reserve price wins nothing');
}

reducer();
clock();
await renewal();
await attempts();
await cart();
await bids();
console.log('all is well');
