import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';

import type { Brand, Show } from '../gen/api.js';
import { type ApiError, LiveShow } from '../shop/index.js';
import type { Address } from './address.js';
import { renewal } from './embedding.js';
import { AuctionCard } from './auction.js';
import { Composer, HeartButton, Messages } from './chat.js';
import { paint } from '../brand/colours.js';
import { DropBanner } from './drop.js';
import { Hearts, rise } from './hearts.js';
import { useChanges, useMedia, useOnline } from './hooks.js';
import { Icon } from './icons.js';
import { LivePlayback } from './live-playback.js';
import { count } from './money.js';
import { Announcer, useNews, useShopState } from './notices.js';
import { Loading } from './poster.js';
import { PinnedCard, Shelf } from './product.js';
import { After, Before, Refused } from './screens.js';
import { OpenSheet } from './sheets.js';
import { ShopContext } from './shop.js';
import { type Plays, type Screen, Stage } from './stage.js';
import { t } from './texts/index.js';
import { IconButton, Logo, Notice } from './ui.js';

const endMs = 6000; // after the end of a broadcast its last seconds are still played
const cartMs = 2000; // viewers read their carts within this time after the start
const noProducts: Show['products'] = [];
const sfuUrl = `${location.origin.replace(/^http/, 'ws')}/sfu`; // the server redirects to the one that has the room
const ownHearts = { pending: 0 };

/** The page of a live show: before, during and after it. */
export function Live({ address, token }: { address: Address; token: string }): VNode {
  const { embedding } = address;
  const show = useMemo(() => new LiveShow({ id: address.id, token, ...renewal(address) }), []);
  const source = useMemo(() => sourceOf(show), []);
  const [refused, setRefused] = useState<ApiError>();
  useChanges(show);
  useEffect(() => {
    const off = show.on('closed', (error) => {
      embedding?.send('closed', { code: error.code });
      setRefused(error);
    });
    show.start();
    const timer = embedding?.ownCart ? undefined : setTimeout(() => void show.cart.load().catch(() => undefined), Math.random() * cartMs);
    embedding?.onToken((token) => show.setToken(token));
    Object.assign(globalThis, { showfloorShow: show }); // for browser tests

    return () => {
      clearTimeout(timer);
      off();
      show.close();
    };
  }, []);
  const state = show.state;
  const { ticket } = show;
  const name = ticket && ticket.displayName !== ticket.userId ? ticket.displayName : undefined;
  const { shop, sheet } = useShopState(show, {
    id: address.id, name, canBuy: state?.show.canBuy ?? true, products: state?.show.products ?? noProducts, returned: address.returned, embedding,
  });
  useEffect(() => {
    if (!state) return;
    paint(state.show.brand);
    document.title = `${state.show.name} · ${state.show.brand.name}`;
  }, [state?.show.name, state?.show.brand.primaryColor, state?.show.brand.accentColor]);
  const pinned = state?.show.pinnedProductId ?? null;
  const news = useNews(state?.show.products, pinned);
  if (refused) {
    return <Refused error={refused} expired={(ticket?.expiresAt.getTime() ?? 0) < show.clock.now()} replay={state?.show.replayId ?? null} kind="room" />;
  }
  if (!state) return <Loading />;

  return (
    <ShopContext.Provider value={shop}>
      <LiveLayout show={show} source={source} name={name} openCart={() => shop.open({ kind: 'cart' })} openShelf={() => shop.open({ kind: 'shelf' })} />
      <OpenSheet sheet={sheet} shop={shop} pinned={pinned} show={show} />
      <Notice text={sheet ? '' : shop.notice} />
      <Announcer text={news} />
    </ShopContext.Provider>
  );
}

/** Whether the video is shown: on air, and for some seconds after the end. */
function useOnAir(status: Show['status']): boolean {
  const live = status === 'LIVE' || status === 'RECONNECTING';
  const [shown, setShown] = useState(live);
  useEffect(() => {
    if (live) {
      setShown(true);

      return undefined;
    }
    const timer = setTimeout(() => setShown(false), endMs);

    return () => clearTimeout(timer);
  }, [live]);

  return live || shown;
}

/**
 * Returns a function that requests a playback URL. If the server has written into the page that the show is on air, the first one is
 * requested at once, beside the show.
 */
function sourceOf(show: LiveShow): () => Promise<string> {
  let early = document.querySelector('meta[name=on-air]') ? show.api.playbackUrl().catch(() => undefined) : undefined;

  return async () => {
    const first = await early;
    early = undefined;

    return (first ?? await show.api.playbackUrl()).url;
  };
}

function LiveLayout({ show, source, name, openCart, openShelf }: {
  show: LiveShow; source: () => Promise<string>; name: string | undefined; openCart: () => void; openShelf: () => void;
}): VNode {
  const state = show.state!;
  const data = state.show;
  const desk = useMedia('(min-width: 900px)');
  const online = useOnline();
  const onAir = useOnAir(data.status);
  useChanges(show.cart);
  const plays = useMemo((): Plays | undefined => onAir
    ? (video, changed, canvas) => new LivePlayback(video, canvas, {
      source, show: () => show.state?.show, sfuUrl, token: () => show.token, role: show.ticket?.role, id: data.id, changed,
    })
    : undefined, [onAir, show]);
  const pinned = data.products.find(({ id }) => id === data.pinnedProductId);
  // Those that run, the newest one until it was seen, and those that the viewer has won.
  const auctions = data.auctions.filter((one, i) => one.status === 'LIVE' || show.bids.partIn(one) === 'won' || (i === 0 && one.status === 'ENDED'));
  const drop = data.drops.find(({ endsAt }) => show.clock.left(endsAt) > 0);
  const sendHeart = (): void => {
    ownHearts.pending++;
    show.heart();
    rise(document.getElementById('hearts'), 1);
  };
  const units = show.cart.units;
  const say = (body: string, as: string): Promise<void> => show.say(body, as);
  const trouble = !online ? t.offline : state.connection === 'reconnecting' ? t.reconnecting : onAir && data.status === 'RECONNECTING' ? t.pause : '';
  const cards = auctions.slice(0, 2).map((auction) => <AuctionCard key={auction.id} auction={auction} show={show} />);
  const between = onAir ? null : data.status === 'ENDED'
    ? <After show={data} browse={desk || data.products.length === 0 ? undefined : openShelf} />
    : <Before show={data} browse={desk || data.products.length === 0 ? undefined : openShelf} />;

  return (
    <div class={onAir ? 'show on-air' : 'show off-air'}>
      <main class="show-main">
        <Stage name={data.name} poster={data.posterUrl} plays={plays}>
          {(screen) => (
            <>
              <TopBar brand={data.brand} title={data.name} viewers={data.viewerCount} live={onAir} screen={screen} heading={onAir} />
              <div class="under-top">
                {trouble ? <p class="banner" role="status"><Icon name="alert" /> {trouble}</p> : null}
                {data.canBuy ? null : <p class="banner">{t.cannotBuy}</p>}
                {drop && !desk ? <DropBanner key={drop.code} drop={drop} /> : null}
              </div>
              {between}
              <div class="lower">
                {desk || !onAir ? null : <Messages lines={state.chat} own={show.ticket?.userId} empty={t.noMessages} />}
                <Hearts show={show} own={ownHearts} />
                {desk ? null : cards}
                {pinned && onAir ? <PinnedCard key={pinned.id} product={pinned} /> : null}
                {desk ? null : (
                  <div class="bottom-bar">
                    {onAir ? <Composer name={name} say={say} /> : <span class="gap" />}
                    <IconButton name="bag" label={t.productCount(data.products.length)} act={openShelf} badge={data.products.length} kind="glass" />
                    <IconButton name="cart" label={units ? t.cartUnits(units) : t.cart} act={openCart} badge={units} kind="glass" />
                    {onAir ? <HeartButton send={sendHeart} /> : null}
                  </div>
                )}
              </div>
            </>
          )}
        </Stage>
      </main>
      {desk ? (
        <aside class="panel" aria-label={t.products}>
          <div class="panel-head">
            <h2>{t.products}</h2>
            <IconButton name="cart" label={units ? t.cartUnits(units) : t.cart} act={openCart} badge={units} />
          </div>
          {drop ? <DropBanner key={drop.code} drop={drop} /> : null}
          {cards}
          <div class="panel-shelf" tabIndex={0} role="region" aria-label={t.products}><Shelf products={data.products} pinned={onAir ? data.pinnedProductId : null} /></div>
          {onAir ? (
            <section class="panel-chat" aria-label={t.chat}>
              <h2>{t.chat}</h2>
              <Messages lines={state.chat} own={show.ticket?.userId} empty={t.noMessages} />
              <div class="bottom-bar">
                <Composer name={name} say={say} />
                <HeartButton send={sendHeart} />
              </div>
            </section>
          ) : null}
        </aside>
      ) : null}
    </div>
  );
}

/** The bar over the video: the brand, the show's name, viewers and sound. */
export function TopBar({ brand, title, viewers, live, screen, heading = true }: {
  brand: Brand; title: string; viewers?: number; live: boolean; screen?: Screen; heading?: boolean;
}): VNode {
  const Title = heading ? 'h1' : 'p';

  return (
    <header class="top-bar">
      <div class="brand glass">
        <Logo name={brand.name} url={brand.logoUrl} />
        <div class="brand-text">
          <p class="brand-name"><bdi>{brand.name}</bdi></p>
          <Title class="show-name"><bdi>{title}</bdi></Title>
        </div>
      </div>
      <div class="top-tools">
        {live ? (
          <div class="on-air-badge glass">
            <span class="live-badge">{t.live}</span>
            {viewers === undefined ? null : (
              <span class="viewers"><Icon name="eye" /> <span class="spoken">{t.viewers(viewers, count(viewers))}</span><span aria-hidden="true">{count(viewers)}</span></span>
            )}
          </div>
        ) : null}
        {live && screen ? <IconButton name={screen.muted ? 'mute' : 'sound'} label={screen.muted ? t.soundOn : t.soundOff} act={screen.toggleSound} kind="glass" /> : null}
      </div>
    </header>
  );
}
