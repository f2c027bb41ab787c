// The way to the payment page and back. On phones it opens in the same tab; on desks in a window that the click itself opens,
// because browsers block windows that are opened later.
import { type Memory, memoryOf } from '../shop/index.js';

const windowName = 'showfloor-payment';
const hereSlot = 'pays-here'; // the payment page is in this tab
const ackMs = 600;

/** A place for a payment page whose address isn't known yet. */
export interface PaymentPlace {
  /** Opens the page. Returns false if the browser has blocked the window: then show a link. */
  go(url: string): boolean;
  /** Closes the empty window. */
  cancel(): void;
}

/**
 * Prepares a place for the payment page. Call it in the click.
 *
 * @param returns whether the payment page leads back to the show. A winner's page doesn't, so it never replaces the show
 */
export function preparePayment(returns = true): PaymentPlace {
  if (returns && staysInTab()) {
    return {
      go: (url) => {
        tabMemory().set(hereSlot, true);
        location.assign(url);

        return true;
      },
      cancel: () => undefined,
    };
  }
  tabMemory().set(hereSlot, undefined); // the window gets a copy of the tab's storage
  const opened = window.open('about:blank', windowName, isPhone() ? '' : 'popup,width=520,height=800');

  return {
    go: (url) => {
      if (!opened || opened.closed) return false;
      opened.opener = null; // a site to which the payment page leads must not navigate this one
      opened.location.href = url;

      return true;
    },
    cancel: () => opened?.close(),
  };
}

/** A phone uses the same tab if the token can be kept for the return. A frame can't: payment pages refuse to be framed. */
function staysInTab(): boolean {
  return isPhone() && window.top === window && tabMemory().lasting;
}

function tabMemory(): Memory {
  return memoryOf(() => sessionStorage);
}

function isPhone(): boolean {
  return matchMedia('(pointer: coarse)').matches || innerWidth < 600;
}

type Message = 'returned' | 'received';

function channel(id: string): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(`showfloor.payment.${id}`);
  } catch {
    return undefined; // not allowed in this frame
  }
}

/** Called by the page of the show: answers payment windows that return, and reports them. */
export function awaitReturn(id: string, returned: () => void): () => void {
  const messages = channel(id);
  if (messages) {
    messages.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data !== 'returned') return;
      messages.postMessage('received' satisfies Message);
      returned();
    };
  }

  return () => messages?.close();
}

/** Called after the return from payment. Resolves to true if this is a window beside the show's page, which has received it. */
export async function reportReturn(id: string): Promise<boolean> {
  const memory = tabMemory();
  // Another tab with the same show answers too, but this tab shows the result itself.
  const isHere = memory.get<boolean>(hereSlot) ?? false;
  memory.set(hereSlot, undefined);
  const messages = isHere ? undefined : channel(id);
  if (!messages) return false;
  const received = new Promise<boolean>((done) => {
    messages.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data === 'received') done(true);
    };
    setTimeout(() => done(false), ackMs);
  });
  messages.postMessage('returned' satisfies Message);
  const is = await received;
  messages.close();
  if (is) window.close();

  return is;
}
