import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

import { picture } from './address.js';
import { Icon, type IconName } from './icons.js';
import { money } from './money.js';
import { useShop } from './shop.js';
import { t } from './texts/index.js';

/**
 * A dialog: a sheet from the bottom on phones, a panel at the side on desks. The browser keeps the focus in it; Escape and a click
 * beside it close it.
 */
export function SheetFrame({ title, close, children, footer, narrow = false }: {
  title: string; close: () => void; children: ComponentChildren; footer?: ComponentChildren; narrow?: boolean;
}): VNode {
  const { notice } = useShop();
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();

    return () => {
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);

  return (
    <dialog
      ref={dialog} class={narrow ? 'sheet narrow' : 'sheet'} aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <div class="sheet-inside">
        <header class="sheet-head">
          <h2 id={id} tabIndex={-1} autofocus><bdi>{title}</bdi></h2>
          <IconButton name="close" label={t.close} act={close} />
        </header>
        <div class="sheet-body" tabIndex={-1}>{children}</div>
        {footer ? <footer class="sheet-foot">{footer}</footer> : null}
        <Notice text={notice} />
      </div>
    </dialog>
  );
}

/** The region in which messages appear for some seconds. An open dialog has its own, because all outside of it is inert. */
export function Notice({ text }: { text: string }): VNode {
  return <div class="notice-place" role="status">{text ? <p class="notice">{text}</p> : null}</div>;
}

/** A round button with an icon. */
export function IconButton({ name, label, act, badge, kind = '', filled = false, pressed }: {
  name: IconName; label: string; act: (event: MouseEvent) => void; badge?: number; kind?: string; filled?: boolean; pressed?: boolean;
}): VNode {
  return (
    <button type="button" class={`round ${kind}`} aria-label={label} title={label} onClick={act} {...(pressed === undefined ? {} : { 'aria-pressed': pressed })}>
      <Icon name={name} filled={filled} />
      {badge ? <span class="badge" aria-hidden="true">{badge > 99 ? '99+' : badge}</span> : null}
    </button>
  );
}

/** A picture from any host, or a placeholder if there is none or it can't be loaded. */
export function Picture({ url, alt, kind }: { url: string | null; alt: string; kind: string }): VNode {
  const [failed, setFailed] = useState<string>();
  const from = picture(url);
  if (!from || failed === from) return <span class={`picture ${kind}`} aria-hidden="true"><Icon name="bag" /></span>;

  return <img class={`picture ${kind}`} src={from} alt={alt} referrerpolicy="no-referrer" loading="lazy" decoding="async" onError={() => setFailed(from)} />;
}

/** A price, with the former one struck through. */
export function Price({ cents, before, currency }: { cents: number; before?: number | null; currency: string }): VNode {
  const reduced = before !== null && before !== undefined && before > cents;

  return (
    <span class="price">
      {reduced ? <span class="spoken">{t.price} </span> : null}
      <strong>{money(cents, currency)}</strong>
      {reduced ? <s><span class="spoken">{t.formerly} </span>{money(before, currency)}</s> : null}
    </span>
  );
}

/** Buttons to choose a number of units. */
export function Quantity({ units, most, set, label }: { units: number; most: number; set: (units: number) => void; label: string }): VNode {
  return (
    <div class="quantity" role="group" aria-label={label}>
      <button type="button" aria-label={`${t.fewer}: ${label}`} disabled={units <= 1} onClick={() => set(units - 1)}><Icon name="minus" /></button>
      <output aria-live="polite">{units}</output>
      <button type="button" aria-label={`${t.more}: ${label}`} disabled={units >= most} onClick={() => set(units + 1)}><Icon name="plus" /></button>
    </div>
  );
}

/** A field with its label and, if there is one, its error. */
export function Field({ label, hint, error, children }: {
  label: string; hint?: string; error?: string | undefined; children: (ids: { id: string; describedBy: string | undefined }) => ComponentChildren;
}): VNode {
  const id = useId();
  const describedBy = error || hint ? `${id}-more` : undefined;

  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for={id}>{label}</label>
      {children({ id, describedBy })}
      {error ? <p id={`${id}-more`} class="error" role="alert">{error}</p> : hint ? <p id={`${id}-more`} class="hint">{hint}</p> : null}
    </div>
  );
}

/** The brand's logo, or its first letter. */
export function Logo({ name, url }: { name: string; url: string | null }): VNode {
  const [failed, setFailed] = useState(false);
  const from = picture(url);
  if (!from || failed) return <span class="logo letter" aria-hidden="true">{[...name].find((one) => /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(one))?.toUpperCase() ?? '•'}</span>;

  return <img class="logo" src={from} alt={t.logo(name)} referrerpolicy="no-referrer" onError={() => setFailed(true)} />;
}
