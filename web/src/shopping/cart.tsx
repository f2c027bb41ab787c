import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import type { ShowCartLine } from '../gen/api.js';
import { type CartView, asApiError } from '../shop/index.js';
import { buyer, rememberBuyer } from './buyer.js';
import { useChanges } from './hooks.js';
import { Icon } from './icons.js';
import { money } from './money.js';
import { preparePayment } from './pay.js';
import { codeProblem, explain, lineProblem } from './problems.js';
import { useShop } from './shop.js';
import { mostUnits } from './stock.js';
import { t } from './texts/index.js';
import { Field, Picture, Quantity, SheetFrame } from './ui.js';

const stale = ['insufficient_stock', 'discount_invalid', 'conflict', 'mixed_currencies', 'not_found']; // refusals that the cart explains

/** The cart: its lines, a discount code, and the way to the payment page. */
export function CartSheet({ note, close, browse }: { note?: string | undefined; close: () => void; browse: () => void }): VNode {
  const shop = useShop();
  const { cart } = shop;
  useChanges(cart);
  const [trouble, setTrouble] = useState(note ?? '');
  const [busy, setBusy] = useState(false);
  const [email, setEmail] = useState(buyer().email);
  const [name, setName] = useState(shop.name ?? buyer().name);
  const [wrongEmail, setWrongEmail] = useState(false);
  const [blockedUrl, setBlockedUrl] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (shop.api.identified && !cart.view.saving) void cart.load().catch((error: unknown) => setTrouble(explain(asApiError(error))));

    return cart.on('refused', (error) => setTrouble(explain(error)));
  }, [cart]);
  const view = cart.view;

  const pay = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email.trim())) {
      setWrongEmail(true);
      field.current?.focus();

      return;
    }
    if (view.items.some((line) => line.problem)) return setTrouble(t.problemsFirst);
    rememberBuyer({ email: email.trim(), name: name.trim() });
    setTrouble('');
    setBusy(true);
    const place = preparePayment();
    try {
      await cart.flush();
      const { items, discountCode, discountRefusal } = cart.view;
      const made = await shop.orders.checkout({
        items: items.map(({ productId, quantity }) => ({ productId, quantity })), discountCode: discountRefusal ? null : discountCode,
        customerEmail: email.trim(), customerName: name.trim() || null,
        ...(shop.embedding?.hello.returnUrl ? { returnUrl: shop.embedding.hello.returnUrl } : {}),
      }, cart.view.totalCents);
      shop.embedding?.send('checkout', { orderId: made.orderId });
      if (place.go(made.url)) shop.open({ kind: 'order', orderId: made.orderId });
      else setBlockedUrl(made.url);
    } catch (thrown) {
      place.cancel();
      const error = asApiError(thrown);
      setTrouble(explain(error));
      if (stale.includes(error.code)) void cart.load().catch(() => undefined);
    } finally {
      setBusy(false);
    }
  };

  if (view.items.length === 0) {
    return (
      <SheetFrame title={t.cart} close={close}>
        {trouble ? <p class="trouble" role="alert">{trouble}</p> : null}
        <div class="empty">
          <Icon name="cart" />
          <p><strong>{t.emptyCart}</strong></p>
          <p>{t.emptyCartHint}</p>
          <button type="button" class="plain" onClick={browse}>{t.browse}</button>
        </div>
      </SheetFrame>
    );
  }

  return (
    <SheetFrame
      title={t.cart} close={close}
      footer={(
        <>
          <Sums view={view} />
          {shop.canBuy ? (
            <button type="submit" form="pay" class="primary wide" disabled={busy} aria-busy={busy}>
              {busy ? t.toPayment : t.pay(money(view.totalCents, view.currency ?? ''))}
            </button>
          ) : <p class="note">{t.cannotBuy}</p>}
        </>
      )}
    >
      {trouble ? <p class="trouble" role="alert">{trouble}</p> : null}
      {blockedUrl ? (
        <p class="trouble" role="alert">
          {t.popupBlocked} <a href={blockedUrl} target="_blank" rel="noopener noreferrer">{t.openPayment}</a>
        </p>
      ) : null}
      <ul class="lines">{view.items.map((line) => <Line key={line.productId} line={line} />)}</ul>
      <Code view={view} />
      <form id="pay" class="pay" noValidate onSubmit={(event) => void pay(event)}>
        <Field label={t.email} hint={t.emailHint} error={wrongEmail ? t.invalidEmail : undefined}>
          {({ id, describedBy }) => (
            <input
              id={id} ref={field} type="email" autoComplete="email" maxLength={254} required aria-describedby={describedBy} aria-invalid={wrongEmail} value={email}
              onInput={({ currentTarget }) => {
                setEmail(currentTarget.value);
                setWrongEmail(false);
              }}
            />
          )}
        </Field>
        <Field label={`${t.name} (${t.optional})`}>
          {({ id }) => (
            <input id={id} type="text" autoComplete="name" maxLength={120} value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
          )}
        </Field>
        <p class="quiet"><Icon name="lock" /> {t.secure} {t.private}</p>
      </form>
    </SheetFrame>
  );
}

function Line({ line }: { line: ShowCartLine }): VNode {
  const { cart } = useShop();
  const { product, productId, quantity, lineCents, problem } = line;
  const lower = problem === 'insufficient_stock' && product.remaining > 0;

  return (
    <li class={problem ? 'line wrong' : 'line'}>
      <Picture url={product.imageUrl} alt="" kind="small" />
      <div class="line-text">
        <p class="line-name"><bdi>{product.name}</bdi></p>
        {problem ? <p class="error">{lineProblem(problem, product.remaining)}</p> : <p class="quiet">{money(product.priceCents, product.currency)}</p>}
        {lower ? <button type="button" class="plain small" onClick={() => cart.set(productId, product.remaining)}>{t.lowerTo(product.remaining)}</button> : null}
      </div>
      <p class="line-sum">{problem ? '–' : money(lineCents, product.currency)}</p>
      <div class="line-tools">
        <Quantity units={quantity} most={Math.max(mostUnits(product), 1)} set={(units) => cart.set(productId, units)} label={product.name} />
        <button type="button" class="round quiet" aria-label={t.remove(product.name)} title={t.remove(product.name)} onClick={() => cart.set(productId, 0)}>
          <Icon name="trash" />
        </button>
      </div>
    </li>
  );
}

function Code({ view }: { view: CartView }): VNode {
  const { cart } = useShop();
  const [text, setText] = useState('');
  const { discountCode, discountRefusal, discountCents, saving, currency } = view;
  if (discountCode && !discountRefusal) {
    return (
      <div class="code-used" role="status">
        <Icon name="tag" />
        <span><bdi>{saving ? discountCode : t.codeWorks(discountCode, money(discountCents, currency ?? ''))}</bdi></span>
        <button type="button" class="round quiet" aria-label={t.removeCode} title={t.removeCode} onClick={() => cart.setCode(null)}><Icon name="close" /></button>
      </div>
    );
  }

  return (
    <form
      class="code"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) cart.setCode(text.trim());
      }}
    >
      <Field label={t.code} error={discountRefusal ? `${discountCode}: ${codeProblem(discountRefusal)}` : undefined}>
        {({ id, describedBy }) => (
          <div class="with-button">
            <input
              id={id} type="text" autoComplete="off" autoCapitalize="characters" spellcheck={false} maxLength={64} aria-describedby={describedBy} value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
            <button type="submit" class="plain">{t.use}</button>
          </div>
        )}
      </Field>
    </form>
  );
}

function Sums({ view }: { view: CartView }): VNode {
  const currency = view.currency ?? '';

  return (
    <dl class={view.saving ? 'sums saving' : 'sums'} aria-busy={view.saving}>
      {view.discountCents > 0 ? (
        <>
          <div><dt>{t.subtotal}</dt><dd>{money(view.subtotalCents, currency)}</dd></div>
          <div class="reduced"><dt>{t.discount}</dt><dd>−{money(view.discountCents, currency)}</dd></div>
        </>
      ) : null}
      <div class="total"><dt>{t.total}</dt><dd>{view.saving ? t.saving : money(view.totalCents, currency)}</dd></div>
    </dl>
  );
}
