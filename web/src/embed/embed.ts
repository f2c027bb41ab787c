// Shows a live show or a replay in a shop's own page:
//   <script src="https://live.example.com/assets/embed.js" data-room="str_…" data-token="…" async></script>
// docs/shopping.md has the attributes, the events and the function showfloor.embed.
import { texts } from './texts.js';
import { type FrameMessage, type ToFrame, isMessage, version } from './protocol.js';

/** The options of a frame. The script's element has them as attributes: `data-room`, `data-token-url` and so on. */
interface Options {
  /** The element that the frame is put into. */
  target: Element;
  /** A live show's stream id. */
  room?: string | undefined;
  /** A replay's recording id. */
  vod?: string | undefined;
  /** A participant token, or a function that gets one: at the start, and again before the token expires. */
  token?: string | (() => Promise<string>) | undefined;
  /** An address of the shop that answers `{"token": "…"}` for the customer who is logged in. */
  tokenUrl?: string | undefined;
  /** `shop`: events tell the shop's own cart what the viewer takes; `page`, the default: the show has its cart. */
  cart?: 'page' | 'shop' | undefined;
  /** Where the payment window goes after payment; this page by default. */
  returnUrl?: string | undefined;
  /** The frame's height as CSS, such as `600px`; by default it follows the frame's width. */
  height?: string | undefined;
  /** The frame's name for screen readers. */
  title?: string | undefined;
  /** Any event; `event` has the message's type and data. */
  onEvent?: ((event: { type: string; data: unknown }) => void) | undefined;
}

/** A frame on the page. */
interface Embedded {
  readonly frame: HTMLIFrameElement;
  /** Gives the frame a new token of the same viewer. */
  setToken(token: string): void;
  /** Removes the frame. */
  remove(): void;
}

type Result = 'success' | 'cancelled';

const script = document.currentScript as HTMLScriptElement | null;
const base = script ? new URL(script.src).origin : location.origin;
const channelName = 'showfloor.embed';
const marker = 'showfloor'; // the parameter of a returnUrl that names the show
const ackMs = 600;
const againMs = 1000; // before a token is requested again
const patienceMs = 5000; // after a frame is loaded, before one that sent no message is replaced by a link
const longestUrl = 2000; // of a returnUrl; the server adds to it, and accepts 2,048 characters
const text = navigator.language.startsWith('de') ? texts.de : texts.en;

/** Reads how the viewer has returned to this page from a payment, and removes it from the address. */
function readReturn(): { id: string; result: Result } | undefined {
  const url = new URL(location.href);
  const id = url.searchParams.get(marker);
  const result = url.searchParams.get('checkout');
  if (!id || (result !== 'success' && result !== 'cancelled')) return undefined;
  url.searchParams.delete(marker);
  url.searchParams.delete('checkout');
  history.replaceState(history.state, '', url);

  return { id, result };
}

function channel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(channelName);
  } catch {
    return undefined; // not allowed on this page
  }
}

/** Tells the page that has opened this payment window. It answers, and this window closes. */
function reportReturn({ id, result }: { id: string; result: Result }): void {
  const messages = channel();
  if (!messages) return;
  messages.onmessage = ({ data }: MessageEvent<{ received?: string }>) => {
    if (data.received === id) window.close();
  };
  messages.postMessage({ returned: id, result });
  setTimeout(() => messages.close(), ackMs);
}

const returned = readReturn();
if (returned) reportReturn(returned);

function returnUrlOf(options: Options, id: string): string | undefined {
  const url = new URL(options.returnUrl ?? location.href, location.href);
  url.hash = '';
  url.searchParams.set(marker, id);
  if (url.href.length > longestUrl) url.search = `?${marker}=${encodeURIComponent(id)}`;

  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : undefined;
}

async function tokenFrom(options: Options): Promise<string | undefined> {
  if (typeof options.token === 'function') return options.token();
  if (!options.tokenUrl) return undefined;
  const answer = await fetch(options.tokenUrl, { headers: { Accept: 'application/json' }, credentials: 'include' });
  if (!answer.ok) throw new Error(`showfloor: ${options.tokenUrl} answered ${answer.status}`);

  return ((await answer.json()) as { token?: string }).token;
}

/** Puts a show into an element. */
function embed(options: Options): Embedded {
  const { target, room, vod } = options;
  const id = vod ?? room;
  if (!id) throw new Error('showfloor: room or vod is missing');
  const address = `${base}/scenarios/shopping/?${vod ? 'vod' : 'room'}=${encodeURIComponent(id)}`;
  const frame = document.createElement('iframe');
  frame.src = `${address}&embed=1`;
  frame.title = options.title ?? text.title;
  frame.allow = 'autoplay; fullscreen; picture-in-picture; clipboard-write';
  frame.referrerPolicy = 'no-referrer';
  frame.style.cssText = `display:block;box-sizing:border-box;width:100%;height:${options.height ?? '70vh'};max-height:100vh;max-height:100dvh;border:0`;
  if (!options.height) frame.style.minHeight = 'min(30rem, 100vh)';

  const send = <Type extends keyof ToFrame>(type: Type, data: ToFrame[Type]): void => {
    frame.contentWindow?.postMessage({ showfloor: version, type, data }, base);
  };
  const tell = (type: string, data: unknown): void => {
    options.onEvent?.({ type, data });
    target.dispatchEvent(new CustomEvent(`showfloor:${type}`, { detail: data, bubbles: true }));
  };
  const fail = (error: unknown): void => {
    console.error('showfloor: no token for the show.', error);
    tell('failed', { reason: 'token' });
  };
  let given = typeof options.token === 'string' ? options.token : undefined;
  const fetchToken = async (): Promise<string | undefined> => {
    try {
      // An answer that fails once must not keep the customer out.
      const token = await tokenFrom(options).catch(async () => {
        await new Promise((done) => setTimeout(done, againMs));

        return tokenFrom(options);
      });
      if (!token && (options.tokenUrl || typeof options.token === 'function')) fail('The answer has none.');

      return token;
    } catch (error) {
      fail(error);

      return undefined;
    }
  };
  const greet = async (): Promise<void> => {
    const token = given ?? (await fetchToken());
    const back = returned?.id === id ? returned.result : undefined;
    send('hello', { token, cart: options.cart, returnUrl: returnUrlOf(options, id), returned: back });
  };
  let greeting: Promise<void> | undefined;
  const take = (event: MessageEvent<unknown>): void => {
    if (event.source !== frame.contentWindow || event.origin !== base || !isMessage(event.data)) return;
    answered = true;
    clearTimeout(patience);
    const { type, data } = event.data as FrameMessage;
    switch (type) {
      case 'ready': // sent again until the answer arrives; those that arrive within a second after it are ignored
        greeting ??= greet().finally(() => setTimeout(() => (greeting = undefined), againMs));

        return;
      case 'resize':
        if (!options.height) frame.style.height = `${data.height}px`;

        return;
      case 'token.expiring':
        void fetchToken().then((token) => token && send('token', { token }));
    }
    tell(type, data);
  };
  // A browser doesn't say that a page refuses to be framed: the frame is loaded, and never sends a message.
  let patience: ReturnType<typeof setTimeout> | undefined;
  const refused = (): void => {
    console.error(`showfloor: no answer from ${base}. Is ${location.origin} in the tenant's embedOrigins?`);
    const link = document.createElement('a');
    link.href = address;
    link.target = '_blank';
    link.rel = 'noopener';
    link.textContent = text.open;
    frame.replaceWith(link);
    tell('failed', { reason: 'frame' });
  };
  let answered = false;
  frame.addEventListener('load', () => {
    clearTimeout(patience);
    if (!answered) patience = setTimeout(refused, patienceMs);
  });
  const messages = channel();
  if (messages) {
    messages.onmessage = ({ data }: MessageEvent<{ returned?: string; result?: Result }>) => {
      if (data.returned !== id || !data.result) return;
      messages.postMessage({ received: id });
      send('returned', { result: data.result });
    };
  }
  addEventListener('message', take);
  target.append(frame);

  return {
    frame,
    setToken: (token) => {
      given = token;
      send('token', { token });
    },
    remove: () => {
      clearTimeout(patience);
      removeEventListener('message', take);
      messages?.close();
      frame.remove();
    },
  };
}

Object.assign(globalThis, { showfloor: { ...(globalThis as { showfloor?: object }).showfloor, embed } });

/** Embeds the show that the script's element names: into `data-target`, or behind the script. */
function embedOwn(element: HTMLScriptElement): void {
  const { target: selector, room, vod, token, tokenUrl, cart, returnUrl, height, title } = element.dataset;
  let target = selector ? document.querySelector(selector) : null;
  if (!target) {
    if (selector || document.head.contains(element)) console.warn('showfloor: data-target names no element. The show is at the end of the page.');
    target = document.createElement('div');
    if (document.body.contains(element)) element.after(target);
    else document.body.append(target);
  }
  embed({ target, room, vod, token, tokenUrl, cart: cart === 'shop' ? 'shop' : 'page', returnUrl, height, title });
}

if (script?.dataset['room'] || script?.dataset['vod']) {
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', () => embedOwn(script));
  else embedOwn(script);
}
