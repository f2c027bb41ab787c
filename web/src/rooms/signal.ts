import { Backoff } from './backoff.js';
import type { Bye, ClientMessage, ServerMessage, Welcome } from './protocol.js';

const pingMs = 5000;
const silenceMs = 15_000; // after that a socket counts as dead
const openMs = 8000; // a socket that says no welcome by then is tried again
const patienceMs = 120_000; // so long it is tried again and again

/** What a Signal tells its owner. */
export interface SignalListener {
  /** A welcome, on the first connection and on each one after. */
  welcome(message: Welcome): void;
  /** Any other message but bye and pong. */
  message(message: ServerMessage): void;
  /** The socket is lost and is being opened again. */
  lost(): void;
  /** It is over; nothing more is tried. */
  over(bye: Bye): void;
}

/**
 * The WebSocket to the SFU, which outlives its single connections: it comes again
 * after a loss, with growing pauses, and goes on where it was.
 */
export class Signal {
  #socket: WebSocket | undefined;
  #url: string;
  #resume = '';
  #last = 0;
  #heardAt = 0;
  #lostAt = 0;
  #moves = 0; // since the last welcome
  #up = false;
  #welcomed = false;
  #over = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ping: ReturnType<typeof setInterval> | undefined;
  readonly #backoff = new Backoff();

  constructor(
    url: string,
    private readonly token: string,
    private readonly room: string,
    private readonly listener: SignalListener,
  ) {
    this.#url = url;
  }

  /** Whether messages go out now. */
  get up(): boolean {
    return this.#up;
  }

  /** Opens the first connection. */
  open(): void {
    globalThis.addEventListener?.('online', this.#again);
    this.#lostAt = performance.now();
    this.#connect();
  }

  /** Sends, or drops the message while there is no connection. */
  send(message: ClientMessage): void {
    // A socket that is closing is still ours until it says so, and complains.
    if (this.#up && this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** Says good-bye and stays away. */
  close(): void {
    if (this.#over) return;
    this.send({ type: 'leave' });
    this.#stop();
  }

  #stop(): void {
    this.#over = true;
    this.#drop();
    globalThis.removeEventListener?.('online', this.#again);
  }

  /** drop lets go of the socket without telling anybody. */
  #drop(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#ping);
    this.#up = this.#welcomed = false;
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  readonly #again = (): void => {
    if (!this.#over && !this.#up) this.#connect();
  };

  #connect(): void {
    this.#drop();
    const url = new URL(this.#url.replace(/\/*$/, '/'));
    url.searchParams.set('token', this.token);
    url.searchParams.set('room', this.room);
    if (this.#resume) {
      url.searchParams.set('resume', this.#resume);
      url.searchParams.set('after', String(this.#last));
    }
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.onmessage = (event) => this.#hear(String(event.data));
    socket.onclose = () => this.#lose();
    this.#timer = setTimeout(() => this.#lose(), openMs);
  }

  #lose(): void {
    const wasUp = this.#welcomed;
    this.#drop();
    if (wasUp) {
      this.#lostAt = performance.now();
      this.listener.lost();
    }
    if (performance.now() - this.#lostAt > patienceMs) {
      this.#end({ type: 'bye', code: 'shutdown', message: 'The server can’t be reached.', retry: false });

      return;
    }
    this.#timer = setTimeout(() => this.#connect(), this.#backoff.next());
  }

  #end(bye: Bye): void {
    this.#stop();
    this.listener.over(bye);
  }

  #hear(text: string): void {
    const message = JSON.parse(text) as ServerMessage & { seq?: number };
    this.#heardAt = performance.now();
    // What was missed comes before the welcome, and may be an offer to answer.
    this.#up = true;
    if (message.type === 'welcome') {
      this.#begin(message);
    } else if (typeof message.seq === 'number') {
      if (message.seq <= this.#last) return; // heard before the loss already
    }
    this.#last = message.type === 'welcome' && !message.resumed ? (message.seq ?? 0) : Math.max(this.#last, message.seq ?? 0);

    switch (message.type) {
      case 'welcome':
        return this.listener.welcome(message);
      case 'bye':
        return this.#farewell(message);
      case 'pong':
        return;
      default:
        return this.listener.message(message);
    }
  }

  #begin(message: Welcome): void {
    clearTimeout(this.#timer);
    clearInterval(this.#ping);
    this.#resume = message.resume;
    this.#backoff.reset();
    this.#moves = 0;
    this.#welcomed = true;
    this.#ping = setInterval(() => {
      if (performance.now() - this.#heardAt > silenceMs) return this.#lose();
      this.send({ type: 'ping', time: Date.now() });
    }, pingMs);
  }

  #farewell(bye: Bye): void {
    if (bye.code === 'moved' && bye.sfuUrl) {
      this.#url = bye.sfuUrl;
      this.#resume = '';
      this.#last = 0;
      // At once the first time; two nodes that send us to and fro are asked with pauses.
      if (this.#moves++ === 0) return this.#connect();
    } else if (!bye.retry) {
      return this.#end(bye);
    }
    // The server closes the socket after this; we needn't wait for it.
    this.#lose();
  }
}
