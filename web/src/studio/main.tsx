// The studio: /scenarios/studio/?room=<stream>&token=<host's participant token>. A host runs a live show from here.
import { type ComponentChildren, type VNode, render } from 'preact';
import { useEffect, useId, useMemo, useState } from 'preact/hooks';

import { type ApiError, HostApi, LiveShow, type Ticket, readTicket } from '../shop/index.js';
import { readAddress } from '../shopping/address.js';
import { paint } from '../brand/colours.js';
import { useChanges, useOnline } from '../shopping/hooks.js';
import { unmarked } from '../shopping/isolate.js';
import { Icon } from '../shopping/icons.js';
import { count } from '../shopping/money.js';
import { useShopState } from '../shopping/notices.js';
import { Closed, Refused } from '../shopping/screens.js';
import { ShopContext } from '../shopping/shop.js';
import { t } from '../shopping/texts/index.js';
import { Logo, Notice } from '../shopping/ui.js';
import { Auctions } from './auctions.js';
import { Broadcast } from './broadcast.js';
import { Chat } from './chat.js';
import { Drops } from './drops.js';
import { Products } from './products.js';
import { Sales } from './sales.js';
import { type Studio, StudioContext, useStudio } from './studio.js';
import { s } from './texts/index.js';

function Page({ id, token }: { id: string; token: string | undefined }): VNode {
  const ticket = token === undefined ? undefined : readTicket(token);
  if (!token || !ticket || ticket.room !== id) return <Closed icon="lock" title={s.studio} text={s.noTokenText} />;
  if (ticket.role !== 'host' && ticket.role !== 'cohost') return <Closed icon="lock" title={s.onlyHosts} text={s.onlyHostsText} />;

  return <Live id={id} token={token} ticket={ticket} />;
}

function Live({ id, token, ticket }: { id: string; token: string; ticket: Ticket }): VNode {
  const show = useMemo(() => new LiveShow({ id, token }), []);
  const host = useMemo(() => new HostApi(id, token, ticket.userId), []);
  const [refused, setRefused] = useState<ApiError>();
  useChanges(show);
  useEffect(() => {
    const off = show.on('closed', setRefused);
    show.start();
    Object.assign(globalThis, { showfloorShow: show }); // for browser tests

    return () => {
      off();
      show.close();
    };
  }, []);
  const { state } = show;
  const { shop } = useShopState(show, { id, name: undefined, canBuy: true, products: state?.show.products ?? [], returned: undefined, embedding: undefined });
  const studio = useMemo<Studio>(() => ({ show, host, token, hosts: ticket.role === 'host', notify: shop.notify, refuse: shop.refuse }), []);
  useEffect(() => {
    if (!state) return;
    paint(state.show.brand);
    document.title = `${s.studio} · ${state.show.name}`;
  }, [state?.show.name]);
  if (refused) return <Refused error={refused} expired={ticket.expiresAt.getTime() < show.clock.now()} replay={null} kind="room" />;
  if (!state) return <div class="loading" role="status"><span class="spinner" aria-hidden="true" /> {t.loading}</div>;

  return (
    <StudioContext.Provider value={studio}>
      <ShopContext.Provider value={shop}>
        <Layout />
        <Notice text={shop.notice} />
      </ShopContext.Provider>
    </StudioContext.Provider>
  );
}

function Layout(): VNode {
  const { show } = useStudio();
  const online = useOnline();
  const { show: data, connection } = show.state!;
  const trouble = !online ? t.offline : connection === 'reconnecting' ? t.reconnecting : '';

  return (
    <div class="studio">
      <header class="studio-head">
        <Logo name={data.brand.name} url={data.brand.logoUrl} />
        <h1><bdi>{unmarked(data.name)}</bdi> <span class="studio-mark">{s.studio}</span></h1>
        <span class="studio-viewers"><Icon name="eye" /> <span class="spoken">{t.viewers(data.viewerCount, count(data.viewerCount))}</span><span aria-hidden="true">{count(data.viewerCount)}</span></span>
      </header>
      {trouble ? <p class="banner" role="status">{trouble}</p> : null}
      <main class="studio-main">
        <Broadcast />
        <Panel title={t.products} kind="of-products"><Products /></Panel>
        <Panel title={s.auctions} kind="of-auctions"><Auctions /></Panel>
        <Panel title={s.drops} kind="of-drops"><Drops /></Panel>
        <Panel title={s.sales} kind="of-sales"><Sales /></Panel>
        <Panel title={t.chat} kind="of-chat"><Chat /></Panel>
      </main>
    </div>
  );
}

function Panel({ title, kind, children }: { title: string; kind: string; children: ComponentChildren }): VNode {
  const id = useId();

  return (
    <section class={`studio-panel ${kind}`} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <div class="studio-panel-body">{children}</div>
    </section>
  );
}

document.documentElement.lang = t.language;
const { id, token } = readAddress(undefined);
const root = document.getElementById('page');
if (root) render(<Page id={id} token={token} />, root);
