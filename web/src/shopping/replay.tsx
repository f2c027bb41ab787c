import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

import type { Replay, Show } from '../gen/api.js';
import { type ApiError, ReplayShow, readTicket, watchSleep } from '../shop/index.js';
import type { Address } from './address.js';
import { renewal } from './embedding.js';
import { Messages } from './chat.js';
import { paint } from '../brand/colours.js';
import { Chapters, Controls, type Player, usePlayer } from './controls.js';
import { useChanges, useMedia, useOnline } from './hooks.js';
import { Icon } from './icons.js';
import { TopBar } from './live.js';
import { useShopState } from './notices.js';
import { HlsPlayback, type Playback, type PlaybackState } from './playback.js';
import { Loading } from './poster.js';
import { PinnedCard, Shelf } from './product.js';
import { Refused } from './screens.js';
import { OpenSheet } from './sheets.js';
import { ShopContext } from './shop.js';
import { Stage } from './stage.js';
import { t } from './texts/index.js';
import { IconButton, Notice } from './ui.js';

const refreshMs = 60_000; // prices and stock
const spareMs = 60_000; // the playlist's URL is renewed before it expires
const noProducts: Show['products'] = [];

/** The page of a recorded show. */
export function Recorded({ address }: { address: Address }): VNode {
  const show = useMemo(() => new ReplayShow({ id: address.id, token: address.token, ...renewal(address) }), []);
  const [refused, setRefused] = useState<ApiError>();
  useChanges(show);
  useEffect(() => {
    const off = show.on('closed', (error) => {
      address.embedding?.send('closed', { code: error.code });
      setRefused(error);
    });
    void show.load();
    if (show.api.identified) void show.cart.load().catch(() => undefined);
    const refresh = (): void => void show.load().catch(() => undefined);
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') refresh();
    }, refreshMs * (0.8 + 0.4 * Math.random()));
    const stopWatching = watchSleep(() => {
      show.clock.forget();
      refresh();
      if (show.api.identified) void show.cart.load().catch(() => undefined);
    });
    address.embedding?.onToken((token) => show.setToken(token));
    Object.assign(globalThis, { showfloorShow: show }); // for browser tests

    return () => {
      clearInterval(timer);
      stopWatching();
      off();
    };
  }, []);
  const { replay } = show;
  const { shop, sheet } = useShopState(show, {
    id: address.id, name: undefined, canBuy: replay?.canBuy ?? true, products: replay?.products ?? noProducts, returned: address.returned,
    embedding: address.embedding,
  });
  useEffect(() => {
    if (!replay) return;
    paint(replay.brand);
    document.title = `${replay.name} · ${replay.brand.name}`;
  }, [replay?.name, replay?.brand.primaryColor, replay?.brand.accentColor]);
  if (refused && !replay) {
    const expires = address.token ? readTicket(address.token)?.expiresAt.getTime() ?? 0 : Infinity;

    return <Refused error={refused} expired={expires < Date.now()} replay={null} kind="vod" />;
  }
  if (!replay) return <Loading />;

  return (
    <ShopContext.Provider value={shop}>
      <Layout show={show} replay={replay} second={address.second} openCart={() => shop.open({ kind: 'cart' })} openShelf={() => shop.open({ kind: 'shelf' })} />
      <OpenSheet sheet={sheet} shop={shop} pinned={null} />
      <Notice text={sheet ? '' : shop.notice} />
    </ShopContext.Provider>
  );
}

function Layout({ show, replay, second, openCart, openShelf }: {
  show: ReplayShow; replay: Replay; second: number; openCart: () => void; openShelf: () => void;
}): VNode {
  const desk = useMedia('(min-width: 900px)');
  const online = useOnline();
  const frame = useRef<HTMLElement>(null);
  const [video, setVideo] = useState<HTMLVideoElement>();
  const player = usePlayer(video, replay.durationSec, frame);
  useChanges(show.cart);
  useChat(show);
  const plays = useMemo(() => (element: HTMLVideoElement, changed: (now: PlaybackState) => void): Playback => new HlsPlayback(element, {
    source: async () => {
      if (!show.replay || Date.parse(show.replay.urlExpiresAt) < show.clock.now() + spareMs) await show.load();

      return (show.replay ?? replay).url;
    },
    live: false, second, changed,
  }), [show]);
  const product = show.productAt(player.second);
  const units = show.cart.units;
  const messages = show.chatAt(player.second);

  return (
    <div class="show recorded">
      <main class="show-main" ref={frame} onKeyDown={(event) => keys(event, player)}>
        <Stage name={replay.name} poster={replay.posterUrl} plays={plays} onVideo={setVideo}>
          {({ state }) => (
            <>
              <TopBar brand={replay.brand} title={replay.name} live={false} />
              <div class="under-top">
                {online ? null : <p class="banner" role="status"><Icon name="alert" /> {t.offline}</p>}
                {state === 'failed' ? <p class="banner" role="alert">{t.videoFailed}</p> : null}
                {replay.canBuy ? null : <p class="banner">{t.cannotBuy}</p>}
              </div>
              <div class="lower">
                {desk ? null : <Messages lines={messages} empty="" />}
                {product ? <PinnedCard key={product.id} product={product} /> : null}
                <Chapters replay={replay} player={player} />
                <Controls player={player} />
                {desk ? null : (
                  <div class="bottom-bar">
                    <span class="replay-badge">{t.replay}</span>
                    <span class="gap" />
                    <IconButton name="bag" label={t.productCount(replay.products.length)} act={openShelf} badge={replay.products.length} kind="glass" />
                    <IconButton name="cart" label={units ? t.cartUnits(units) : t.cart} act={openCart} badge={units} kind="glass" />
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
          <p class="quiet panel-note">{t.pricesToday}</p>
          <div class="panel-shelf" tabIndex={0} role="region" aria-label={t.products}><Shelf products={replay.products} pinned={product?.id ?? null} lift={false} /></div>
          <section class="panel-chat" aria-label={t.replayChat}>
            <h2>{t.replayChat}</h2>
            <Messages lines={messages} empty={t.replayChatEmpty} />
          </section>
        </aside>
      ) : null}
    </div>
  );
}

/** Draws the component again when further messages were loaded. */
function useChat(show: ReplayShow): void {
  const [, draw] = useState(0);
  useEffect(() => show.on('chat', () => draw((before) => before + 1)), [show]);
}

/** Keys of the player, unless a field or button has the focus. */
function keys(event: KeyboardEvent, player: Player): void {
  const on = (event.target as HTMLElement).closest('button, input, a, .messages');
  const act = { ' ': player.toggle, k: player.toggle, ArrowLeft: () => player.seek(player.second - 5), ArrowRight: () => player.seek(player.second + 5), m: player.toggleSound, f: player.toggleFull }[event.key];
  if (on || !act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
}
