import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { ShowAuction, ShowOrder } from '../gen/api.js';
import { type LiveShow, type Part, asApiError } from '../shop/index.js';
import { buyer, rememberBuyer } from './buyer.js';
import { Countdown, usePassed } from './countdown.js';
import { usePrevious } from './hooks.js';
import { Icon } from './icons.js';
import { exampleAmount, money, parseMoney } from './money.js';
import { PayButton } from './order.js';
import { explain } from './problems.js';
import { useShop } from './shop.js';
import { t } from './texts/index.js';
import { Field, Picture, SheetFrame } from './ui.js';

const noticeMs = 4000; // how long "+10 s" is shown
const orderPollMs = 2000;

/** Places a bid and reports the result. */
function useBid(show: LiveShow, auction: ShowAuction): { busy: boolean; bid: (cents: number, name: string | null) => Promise<boolean> } {
  const { notify, refuse } = useShop();
  const [busy, setBusy] = useState(false);
  const bid = async (cents: number, name: string | null): Promise<boolean> => {
    if (busy) return false;
    setBusy(true);
    try {
      await show.bid(auction.id, cents, name);
      notify(t.leading);

      return true;
    } catch (thrown) {
      const error = asApiError(thrown);
      if (error.code === 'bid_too_low') await show.load();
      const now = show.state?.show.auctions.find(({ id }) => id === auction.id) ?? auction;
      if (error.code === 'bid_too_low') notify(explain(error, money(now.minimumBidCents, now.currency)));
      else refuse(error);

      return false;
    } finally {
      setBusy(false);
    }
  };

  return { busy, bid };
}

/** The card of an auction: the top bid, the time left, and buttons to bid. */
export function AuctionCard({ auction, show }: { auction: ShowAuction; show: LiveShow }): VNode {
  const shop = useShop();
  const product = shop.products.find(({ id }) => id === auction.productId);
  const part = show.bids.partIn(auction);
  const over = usePassed(auction.endsAt) || auction.status !== 'LIVE';
  const before = usePrevious(part);
  const [extension, setExtension] = useState(0);
  const { busy, bid } = useBid(show, auction);
  useEffect(() => {
    if (part === 'outbid' && (before === 'leading' || before === 'sending')) shop.notify(t.outbid);
    if (part === 'won' && before === 'leading') shop.notify(t.won);
  }, [part]);
  useEffect(() => show.on('extended', ({ auctionId, seconds }) => {
    if (auctionId !== auction.id) return;
    setExtension(seconds);
    shop.notify(t.extendedSpoken(seconds));
  }), [auction.id]);
  useEffect(() => {
    if (extension === 0) return undefined;
    const timer = setTimeout(() => setExtension(0), noticeMs);

    return () => clearTimeout(timer);
  }, [extension]);
  const name = shop.name ?? (buyer().name || null);
  const next = auction.minimumBidCents;

  return (
    <section class={`auction glass ${part}`} aria-label={`${t.auction}: ${product?.name ?? ''}`}>
      <div class="auction-top">
        <Picture url={product?.imageUrl ?? null} alt="" kind="small" />
        <div class="auction-text">
          <p class="auction-kind"><Icon name="gavel" /> {over ? t.ended : t.auction}</p>
          <h2><bdi>{product?.name ?? ''}</bdi></h2>
        </div>
        {over ? null : (
          <p class="auction-time">
            <span class="spoken">{t.timeLeft} </span>
            <Countdown until={auction.endsAt} tenths />
            {extension > 0 ? <span class="extension">{t.extended(extension)}</span> : null}
          </p>
        )}
      </div>
      <div class="auction-bid">
        <TopBid auction={auction} />
        <PartLine part={part} over={over} auction={auction} />
      </div>
      {over ? (part === 'won' ? <Won auction={auction} show={show} /> : null) : (
        <div class="auction-buttons">
          <button
            type="button" class="primary" disabled={busy || part === 'leading' || part === 'sending'} aria-busy={busy}
            onClick={() => {
              if (name) void bid(next, name);
              else shop.open({ kind: 'bid', auctionId: auction.id });
            }}
          >
            {busy ? t.bidding : t.bid(money(next, auction.currency))}
          </button>
          <button type="button" class="plain" onClick={() => shop.open({ kind: 'bid', auctionId: auction.id })}>{t.otherBid}</button>
        </div>
      )}
    </section>
  );
}

function TopBid({ auction }: { auction: ShowAuction }): VNode {
  const { topBidCents, topBidderName, minimumBidCents, currency } = auction;
  if (topBidCents === null) {
    return (
      <p class="top-bid">
        <span class="quiet">{t.startsAt}</span> <strong>{money(minimumBidCents, currency)}</strong> <span class="quiet">{t.noBid}</span>
      </p>
    );
  }

  return (
    <p class="top-bid">
      <span class="quiet">{t.topBid}</span> <strong>{money(topBidCents, currency)}</strong> <bdi class="bidder">{topBidderName}</bdi>
    </p>
  );
}

function PartLine({ part, over, auction }: { part: Part; over: boolean; auction: ShowAuction }): VNode | null {
  if (part === 'leading') return <p class="part good"><Icon name="check" /> {t.leading}</p>;
  if (part === 'outbid' && !over) return <p class="part bad"><Icon name="alert" /> {t.outbid}</p>;
  if (part === 'unsold') return <p class="part">{t.endedUnsold}</p>;
  if (part === 'lost') return <p class="part">{t.lost}</p>;
  if (over && auction.status !== 'LIVE' && auction.topBidCents === null) return <p class="part">{t.endedUnsold}</p>;

  return null;
}

/** The winner's way to the payment page, once it exists. */
function Won({ auction, show }: { auction: ShowAuction; show: LiveShow }): VNode {
  const { open } = useShop();
  const [order, setOrder] = useState<ShowOrder>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stopped = false;
    const read = async (): Promise<void> => {
      const found = await show.orders.ofAuction(auction.id).catch(() => undefined);
      if (stopped) return;
      if (found) setOrder(found);
      // Until the page exists it is awaited; then the payment, which may be made in another window.
      if (!found || found.status === 'PENDING') timer = setTimeout(() => void read(), (found?.checkoutUrl ? 3 : 1) * orderPollMs * (1 + Math.random()));
    };
    void read();

    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [auction.id, auction.status]);
  const url = order?.checkoutUrl;
  const paid = order !== undefined && order.status !== 'PENDING';

  return (
    <div class="won" role="status">
      <p><strong>{t.won}</strong> {paid ? '' : t.wonText}</p>
      {url ? (
        <PayButton
          url={url} returns={false} text={t.payNow} kind="primary wide"
          then={() => {
            show.orders.current = order.id;
            open({ kind: 'order', orderId: order.id });
          }}
        />
      ) : paid ? (
        <button type="button" class="plain wide" onClick={() => open({ kind: 'order', orderId: order.id })}>{t.order}</button>
      ) : <p class="quiet">{t.preparing}</p>}
    </div>
  );
}

/** The dialog for a bid of another amount, and for the name of a bidder without one. */
export function BidSheet({ auction, show, close }: { auction: ShowAuction; show: LiveShow; close: () => void }): VNode {
  const shop = useShop();
  const { busy, bid } = useBid(show, auction);
  const [amount, setAmount] = useState('');
  const [name, setName] = useState(buyer().name);
  const [wrong, setWrong] = useState<string>();
  const over = usePassed(auction.endsAt) || auction.status !== 'LIVE';
  const least = money(auction.minimumBidCents, auction.currency);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const cents = amount.trim() ? parseMoney(amount, auction.currency) : auction.minimumBidCents;
    if (cents === undefined) return setWrong(t.invalidAmount(exampleAmount(auction.currency)));
    if (cents < auction.minimumBidCents) return setWrong(t.amountTooLow(least));
    if (!shop.name) {
      if (!name.trim()) return setWrong(t.bidName);
      rememberBuyer({ name: name.trim() });
    }
    if (await bid(cents, shop.name ?? name.trim())) close();
  };

  return (
    <SheetFrame
      title={t.yourBid} close={close} narrow
      footer={over ? <p class="note">{t.ended}</p> : (
        <button type="submit" form="bid" class="primary wide" disabled={busy} aria-busy={busy}>{busy ? t.bidding : t.placeBid}</button>
      )}
    >
      <form id="bid" class="pay" noValidate onSubmit={(event) => void send(event)}>
        <TopBid auction={auction} />
        <Field label={t.yourBid} hint={t.minimumBid(least)} error={wrong}>
          {({ id, describedBy }) => (
            <input
              id={id} type="text" inputMode="decimal" autoComplete="off" aria-describedby={describedBy} aria-invalid={wrong !== undefined} placeholder={least}
              value={amount}
              onInput={({ currentTarget }) => {
                setAmount(currentTarget.value);
                setWrong(undefined);
              }}
            />
          )}
        </Field>
        {shop.name ? null : (
          <Field label={t.bidName} hint={t.bidNameHint}>
            {({ id, describedBy }) => (
              <input id={id} type="text" autoComplete="name" maxLength={120} aria-describedby={describedBy} value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
            )}
          </Field>
        )}
        <p class="quiet">{t.bidBinding}</p>
      </form>
    </SheetFrame>
  );
}
