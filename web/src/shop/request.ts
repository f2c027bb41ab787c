import { ApiError } from '../rooms/api.js';

/** A call of the API. */
export interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  body?: object;
  /** A participant token; absent for operations that need none. */
  token?: string | undefined;
  /** The Idempotency-Key of a POST. */
  key?: string;
  /** Milliseconds to wait for the answer; 15 000 by default. */
  timeoutMs?: number;
}

const patience = 15_000;

/**
 * Calls an operation. All failures are ApiErrors: a problem has its `code`; without an answer the status is 0 and the code
 * `network`. Then the server may have carried out the request or not.
 */
export async function call<Answer>(url: string, options: Call = {}): Promise<Answer> {
  const answer = await send(url, options);
  if (answer.ok) {
    return (await answer.json().catch(() => {
      throw unreachable();
    })) as Answer;
  }
  const problem = (await answer.json().catch(() => ({}))) as { code?: string; message?: string };
  // A proxy's error has no code. 502 to 504 mean that it is unknown whether the server has carried out the request.
  const code = problem.code ?? (answer.status >= 502 ? 'network' : 'internal');

  throw new ApiError(answer.status, code, problem.message ?? answer.statusText, Number(answer.headers.get('Retry-After') ?? 0) || 0);
}

async function send(url: string, { method = 'GET', body, token, key, timeoutMs = patience }: Call): Promise<Response> {
  const headers: Record<string, string> = {};
  if (token !== undefined) headers['Authorization'] = `Bearer ${token}`;
  if (body) headers['Content-Type'] = 'application/json';
  if (key !== undefined) headers['Idempotency-Key'] = key;
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(), timeoutMs);
  try {
    return await fetch(url, { method, headers, signal: end.signal, ...(body ? { body: JSON.stringify(body) } : {}) });
  } catch {
    throw unreachable();
  } finally {
    clearTimeout(timer);
  }
}

function unreachable(): ApiError {
  return new ApiError(0, 'network', 'no answer from the server', 0);
}

/** Returns any thrown value as an ApiError; a fault of the page itself has the code `internal`. */
export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(0, 'internal', String(error), 0);
}
