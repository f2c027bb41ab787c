import type { VNode } from 'preact';
import { useState } from 'preact/hooks';

import type { ShowAuction, ShowProduct } from '../gen/api.js';
import { Countdown, usePassed } from '../shopping/countdown.js';
import { isolate } from '../shopping/isolate.js';
import { exampleAmount, money, parseMoney } from '../shopping/money.js';
import { t } from '../shopping/texts/index.js';
import { Field, SheetFrame } from '../shopping/ui.js';
import { useAct } from './act.js';
import { useStudio } from './studio.js';
import { s } from './texts/index.js';

/** The auctions that run, and those that have just ended. */
export function Auctions(): VNode {
  const { show } = useStudio();
  const { auctions, products } = show.state!.show;
  if (auctions.length === 0) return <p class="empty">{s.noAuctions}</p>;

  return (
    <ul class="studio-list">
      {auctions.map((auction) => <Row key={auction.id} auction={auction} name={products.find(({ id }) => id === auction.productId)?.name ?? ''} />)}
    </ul>
  );
}

function Row({ auction, name }: { auction: ShowAuction; name: string }): VNode {
  const { host, hosts, show } = useStudio();
  const { busy, act } = useAct();
  const over = usePassed(auction.endsAt) || auction.status !== 'LIVE';
  const cancel = (): void => void act(async () => {
    await host.cancelAuction(auction.id);
    await show.load();
  });

  return (
    <li>
      <div class="studio-text">
        <h3><bdi>{name}</bdi></h3>
        <p>
          {auction.topBidCents === null ? t.noBid : <>{t.topBid}: <strong>{money(auction.topBidCents, auction.currency)}</strong> <bdi>{auction.topBidderName}</bdi></>}
        </p>
        <p>{over ? s.states[auction.status === 'LIVE' ? 'ENDED' : auction.status] : <Countdown until={auction.endsAt} tenths />}</p>
      </div>
      {hosts && !over && auction.topBidCents === null ? <button type="button" disabled={busy} onClick={cancel}>{s.cancel}</button> : null}
    </li>
  );
}

/** The form that starts an auction of a product. */
export function AuctionSheet({ product, close }: { product: ShowProduct; close: () => void }): VNode {
  const { host, show } = useStudio();
  const { busy, act } = useAct();
  const [starting, setStarting] = useState('1');
  const [step, setStep] = useState('1');
  const [reserve, setReserve] = useState('');
  const [seconds, setSeconds] = useState(120);
  const [wrong, setWrong] = useState<'starting' | 'step' | 'reserve'>();
  const start = async (event: Event): Promise<void> => {
    event.preventDefault();
    const amounts = { starting: parseMoney(starting, product.currency), step: parseMoney(step, product.currency), reserve: reserve ? parseMoney(reserve, product.currency) : null };
    const first = (['starting', 'step', 'reserve'] as const).find((name) => amounts[name] === undefined || (name === 'step' && amounts.step === 0));
    setWrong(first);
    if (first) return;
    const started = await act((key) => host.startAuction({
      productId: product.id, startingBidCents: amounts.starting ?? 0, bidIncrementCents: amounts.step ?? 1, reservePriceCents: amounts.reserve ?? null,
      durationSec: seconds, antiSnipeSec: 10,
    }, key));
    if (!started) return;
    void show.load();
    close();
  };
  const amount = (label: string, name: 'starting' | 'step' | 'reserve', value: string, set: (text: string) => void): VNode => (
    <Field label={label} error={wrong === name ? s.wrongAmount(exampleAmount(product.currency)) : undefined}>
      {({ id, describedBy }) => (
        <input id={id} type="text" inputMode="decimal" value={value} aria-describedby={describedBy} onInput={({ currentTarget }) => set(currentTarget.value)} />
      )}
    </Field>
  );

  return (
    <SheetFrame title={s.startAuction(isolate(product.name))} close={close} narrow>
      <form class="studio-form" onSubmit={(event) => void start(event)}>
        {amount(`${s.startingBid} (${product.currency.toUpperCase()})`, 'starting', starting, setStarting)}
        {amount(s.increment, 'step', step, setStep)}
        {amount(`${s.reserve} (${s.optional})`, 'reserve', reserve, setReserve)}
        <Field label={s.seconds}>
          {({ id }) => <input id={id} type="number" min={10} max={604800} required value={seconds} onInput={({ currentTarget }) => setSeconds(currentTarget.valueAsNumber)} />}
        </Field>
        <button type="submit" class="primary wide" disabled={busy}>{s.start}</button>
      </form>
    </SheetFrame>
  );
}
