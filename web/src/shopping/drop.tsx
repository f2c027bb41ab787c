import type { VNode } from 'preact';

import type { ShowDrop } from '../gen/api.js';
import { Countdown, usePassed } from './countdown.js';
import { useChanges } from './hooks.js';
import { Icon } from './icons.js';
import { useShop } from './shop.js';
import { t } from './texts/index.js';

/** The banner of a discount code with a short validity. "Apply" puts the code into the cart. */
export function DropBanner({ drop }: { drop: ShowDrop }): VNode | null {
  const { cart, notify, applyCode } = useShop();
  useChanges(cart);
  if (usePassed(drop.endsAt)) return null;
  const applied = cart.view.discountCode?.toUpperCase() === drop.code.toUpperCase();

  return (
    <section class="drop" aria-label={t.discount}>
      <Icon name="tag" />
      <p class="drop-text">
        <strong>{t.dropOff(drop.percentOff)}</strong> <span>{t.dropCode} <bdi class="drop-code">{drop.code}</bdi></span>
        <span class="drop-left"><span class="spoken">{t.dropLeft} </span><Icon name="clock" /><Countdown until={drop.endsAt} /></span>
      </p>
      <button
        type="button" class="drop-apply" disabled={applied}
        onClick={() => {
          applyCode(drop.code);
          notify(`${t.applied}: ${drop.code}`);
        }}
      >
        {applied ? t.applied : t.apply}
      </button>
    </section>
  );
}
