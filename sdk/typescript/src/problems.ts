import type { Problem } from './gen/api.js';

/** A problem that the server answered with. */
export class ProblemError extends Error {
  /** The server's answer: `code` says what is wrong, and `requestId` names the request. */
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.message}`);
    this.name = 'ProblemError';
    this.problem = problem;
  }
}

/** The result of a call of the client. */
interface Result {
  data?: unknown;
  error?: unknown;
  response: Response;
}

/**
 * Waits for a call of the client and returns its data. Throws ProblemError for a problem, and another Error for an error that
 * isn't the server's own, such as a proxy's.
 *
 *     const stream = await unwrap(api.POST('/v1/me/streams', { body: { name: 'Launch' } }));
 */
export async function unwrap<R extends Result>(call: Promise<R>): Promise<Exclude<R['data'], undefined>> {
  const { data, error, response } = await call;
  if (response.ok) return data as Exclude<R['data'], undefined>;
  if (isProblem(error)) throw new ProblemError(error);
  throw new Error(`the answer has the status ${response.status} and no problem`);
}

function isProblem(error: unknown): error is Problem {
  return typeof error === 'object' && error !== null && 'code' in error && 'message' in error;
}
