import { Backoff } from './backoff.js';
import type { Bye, ClientMessage, ServerMessage, Welcome } from './protocol.js';

const pingMs = 5000;
const silenceMs = 15_000; // a socket without a message for this long counts as dead
const openMs = 8000; // a socket without a welcome by then is closed and opened again
const patienceMs = 120_000; // how long to reconnect before the room is closed

/** The callbacks of a Signal. */
export interface SignalListener {
  /** The welcome of the first connection and of each later one. */
  welcome(message: Welcome): void;
  /** Any other message except bye and pong. */
  message(message: ServerMessage): void;
  /** The socket is lost and is being opened again. */
  lost(): void;
  /** The connection has ended and is not opened again. */
  over(bye: Bye): void;
}

/**
 * The signalling connection to the SFU. After a loss of its WebSocket it reconnects,
 * with growing pauses, and resumes.
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
    private readonly watch: boolean,
    private readonly listener: SignalListener,
  ) {
    this.#url = url;
  }

  /** Whether messages can be sent now. */
  get up(): boolean {
    return this.#up;
  }

  /** Opens the first connection. */
  open(): void {
    globalThis.addEventListener?.('online', this.#again);
    this.#lostAt = performance.now();
    this.#connect();
  }

  /** Sends a message, or drops it while there is no connection. */
  send(message: ClientMessage): void {
    // A socket that is closing stays in #socket until its close event. Sending on it would log an error.
    if (this.#up && this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** Sends `leave` and closes the connection permanently. */
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

  /** drop closes the socket without calling the listener. */
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
    if (this.watch) url.searchParams.set('watch', '1');
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
    // Missed messages come before the welcome. One of them may be an offer, whose answer has to be sent.
    this.#up = true;
    if (message.type === 'welcome') {
      this.#begin(message);
    } else if (typeof message.seq === 'number') {
      if (message.seq <= this.#last) return; // received before the loss already
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
      // The first redirect is followed at once, further ones with pauses: two nodes may redirect to each other.
      if (this.#moves++ === 0) return this.#connect();
    } else if (!bye.retry) {
      return this.#end(bye);
    }
    // The server closes the socket after this; we needn't wait for it.
    this.#lose();
  }
}
