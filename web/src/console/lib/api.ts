import createClient from 'openapi-fetch';
import createQueries from 'openapi-react-query';

import type { paths, Problem } from '../../gen/api.js';
import { endImpersonation, impersonationHasEnded, impersonationToken } from './impersonation.js';
import { askToSignIn, isSignedIn } from './session.js';

export type { Problem };

// Codes of a 401 that ends an impersonation. Others are about the request, such as a wrong password.
const endingCodes = ['token_expired', 'token_revoked'];

const codeOf = async (answer: Response): Promise<string> => asProblem(await answer.clone().json().catch(() => null)).code;

// Sends a request. When the session has expired meanwhile, it asks the user to sign in over the page and repeats the request
// afterwards, so the caller notices nothing but a longer wait. After an impersonation, it sends nothing until the page is loaded again:
// the browser's cookie may be that of another login.
async function send(request: Request): Promise<Response> {
  if (impersonationHasEnded()) throw impersonationOver;
  const token = impersonationToken();
  if (token) {
    request.headers.set('Authorization', `Bearer ${token}`);
    const answer = await fetch(request);
    if (answer.status === 401 && endingCodes.includes(await codeOf(answer))) endImpersonation();
    return answer;
  }
  const again = request.clone();
  const answer = await fetch(request);
  if (answer.status !== 401 || !isSignedIn() || request.url.includes('/auth/console/')) return answer;
  await askToSignIn();
  return send(again);
}

const impersonationOver: Problem = {
  type: 'about:blank', title: '', status: 401, code: 'impersonation_ended', message: '', requestId: '',
};

export const consoleHeader = { 'X-Showfloor-Console': '1' } as const;
export const client = createClient<paths>({ baseUrl: location.origin, headers: consoleHeader, fetch: send });
export const api = createQueries(client);

interface Answer<D> { data?: D; error?: unknown; response: Response }

// Returns the data of an answer, or throws its problem.
export async function unwrap<D>(answering: Promise<Answer<D>>): Promise<D> {
  const { data, error, response } = await answering;
  if (error !== undefined) throw error;
  if (!response.ok) throw new TypeError(`status ${response.status}`);
  return data as D;
}

// Makes a problem of any error. One without an answer of the server has the code "network".
export function asProblem(error: unknown): Problem {
  if (typeof error === 'object' && error !== null && 'code' in error && 'message' in error) return error as Problem;
  return { type: 'about:blank', title: '', status: 0, code: 'network', message: '', requestId: '' };
}
