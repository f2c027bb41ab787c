import type {
  BreakoutAssignments, BreakoutsClosed, Call, ChatMessage, MuteAllResult, Participant as SessionParticipant, ParticipantPatch,
  ParticipantRole, Session, SessionEnding, SessionPatch, SessionRecording,
} from '../gen/api.js';

/** An error response of the API: an HTTP status, a code for programs and a sentence for people. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** Seconds to wait before a retry, from the header Retry-After; 0 without it. */
    readonly retryAfter: number,
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

/**
 * The operations that a participant token may call. An operation that the
 * participant's role doesn't allow throws an ApiError with status 403.
 */
export class Api {
  #aheadMs = 0; // how far the server's clock is ahead of this machine's

  /** @param base the API's base URL without a trailing slash; empty for the page's own server */
  constructor(
    private readonly token: string,
    private readonly base = '',
  ) {}

  /** The server's time in milliseconds since 1970, to a second, once an operation was answered. */
  now(): number {
    return Date.now() + this.#aheadMs;
  }

  session(id: string): Promise<Session> {
    return this.#call('GET', `sessions/${id}`);
  }

  updateSession(id: string, patch: SessionPatch): Promise<Session> {
    return this.#call('PATCH', `sessions/${id}`, patch);
  }

  endSession(id: string): Promise<SessionEnding> {
    return this.#call('POST', `sessions/${id}/end`);
  }

  startRecording(id: string): Promise<SessionRecording> {
    return this.#call('POST', `sessions/${id}/recording/start`);
  }

  stopRecording(id: string, recordingId: string): Promise<SessionRecording> {
    return this.#call('POST', `sessions/${id}/recording/${recordingId}/stop`);
  }

  /** All participants who were invited or have ever joined. Loads every page of the list. */
  async participants(id: string): Promise<SessionParticipant[]> {
    const all: SessionParticipant[] = [];
    let path: string | undefined = `sessions/${id}/participants?limit=200`;
    while (path) {
      const answer: Response = await this.#fetch('GET', path);
      all.push(...((await answer.json()) as SessionParticipant[]));
      path = nextPage(answer.headers.get('Link'));
    }

    return all;
  }

  updateParticipant(id: string, userId: string, patch: ParticipantPatch): Promise<SessionParticipant> {
    return this.#call('PATCH', `sessions/${id}/participants/${encodeURIComponent(userId)}`, patch);
  }

  admit(id: string, userId: string): Promise<SessionParticipant> {
    return this.#call('POST', `sessions/${id}/participants/${encodeURIComponent(userId)}/admit`);
  }

  kick(id: string, userId: string): Promise<SessionParticipant> {
    return this.#call('DELETE', `sessions/${id}/participants/${encodeURIComponent(userId)}`);
  }

  muteAll(id: string, exceptHost = true): Promise<MuteAllResult> {
    return this.#call('POST', `sessions/${id}/moderate/mute-all`, { exceptHost });
  }

  mute(id: string, userId: string): Promise<SessionParticipant> {
    return this.#call('POST', `sessions/${id}/moderate/mute`, { userId });
  }

  spotlight(id: string, userId: string | null): Promise<Session> {
    return this.#call('POST', `sessions/${id}/moderate/spotlight`, { userId });
  }

  promote(id: string, userId: string, role: Extract<ParticipantRole, 'guest' | 'cohost'>): Promise<SessionParticipant> {
    return this.#call('POST', `sessions/${id}/moderate/promote`, { userId, role });
  }

  raiseHand(id: string, userId: string): Promise<SessionParticipant> {
    return this.#call('POST', `sessions/${id}/moderate/hand-raise`, { userId });
  }

  lowerHand(id: string, userId: string): Promise<SessionParticipant> {
    return this.#call('POST', `sessions/${id}/moderate/hand-lower`, { userId });
  }

  /** Opens breakout rooms, which close by themselves after `durationSec`; null for never. */
  createBreakouts(id: string, count: number, assignments: BreakoutAssignments, durationSec: number | null = null): Promise<Session[]> {
    return this.#call('POST', `sessions/${id}/breakouts`, { count, assignments, durationSec });
  }

  closeBreakouts(id: string): Promise<BreakoutsClosed> {
    return this.#call('POST', `sessions/${id}/breakouts/close`);
  }

  /** Hangs up, which ends the call for both parties. */
  endCall(id: string, userId: string): Promise<Call> {
    return this.#call('POST', `calls/${id}/end`, { userId });
  }

  /** Up to 100 messages of the room's chat, oldest first: the newest ones, or with `since` the first ones after that message. */
  messages(id: string, since?: string): Promise<ChatMessage[]> {
    return this.#call('GET', `channels/${id}/messages?limit=100${since ? `&since=${encodeURIComponent(since)}` : ''}`);
  }

  /** Posts a message. The retry after a network error doesn't store it twice, since it has the same Idempotency-Key. */
  sendMessage(id: string, authorId: string, authorName: string, body: string): Promise<ChatMessage> {
    return this.#call('POST', `channels/${id}/messages`, { authorId, authorName, body });
  }

  deleteMessage(id: string, messageId: string): Promise<ChatMessage> {
    return this.#call('DELETE', `channels/${id}/messages/${messageId}`);
  }

  /** learnTime reads the server's time. A difference up to 1 s is within the header's precision and is ignored. */
  #learnTime(answer: Response): void {
    const at = Date.parse(answer.headers.get('Date') ?? '');
    const ahead = at + 500 - Date.now(); // the header has whole seconds
    if (Number.isFinite(ahead)) this.#aheadMs = Math.abs(ahead) > 1000 ? ahead : 0;
  }

  async #call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    return (await (await this.#fetch(method, path, body)).json()) as Answer;
  }

  async #fetch(method: string, path: string, body?: object): Promise<Response> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.token}` };
    if (body) headers['Content-Type'] = 'application/json';
    if (method === 'POST') headers['Idempotency-Key'] = key();
    const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const url = `${this.base}/v1/me/${path}`;
    // One retry after a network error. With its Idempotency-Key a POST is carried out only once.
    const answer = await fetch(url, init).catch(() => fetch(url, init));
    this.#learnTime(answer);
    if (answer.ok) return answer;
    const problem = (await answer.json().catch(() => ({}))) as { code?: string; message?: string };

    throw new ApiError(
      answer.status, problem.code ?? 'internal', problem.message ?? answer.statusText, Number(answer.headers.get('Retry-After') ?? 0),
    );
  }
}

function key(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** nextPage returns the next page's path below /v1/me/ from a Link header; undefined on the last page. */
function nextPage(link: string | null): string | undefined {
  const url = /<([^>]+)>;\s*rel="?next"?/.exec(link ?? '')?.[1];

  return url?.split('/v1/me/')[1];
}
