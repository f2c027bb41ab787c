/**
 * Client of the Showfloor API. Paths, bodies, results and problems are typed
 * from the API document; see https://openapi-ts.dev/openapi-fetch for the calls.
 *
 *     const api = createShowfloor({ baseUrl: 'https://live.example.com', token: process.env.SHOWFLOOR_KEY });
 *     const stream = await unwrap(api.POST('/v1/me/streams', { body: { name: 'Launch' } }));
 *     console.log(stream.streamKey);
 */
import createClient, { type Client } from 'openapi-fetch';

import type { WebhookEvent, paths } from './gen/api.js';

export type * from './gen/api.js';
export { ProblemError, unwrap } from './problems.js';
export { InvalidDelivery, verifyWebhook, type Delivery } from './webhooks.js';

/** All operations, by method and path. */
export type Showfloor = Client<paths>;

export interface ShowfloorOptions {
  /** The server's base URL without `/v1`, such as https://live.example.com. */
  baseUrl: string;
  /** An API key or the token of a login, or a function that returns the current one; undefined for public operations. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Replaces the global fetch, for retries, logs or a proxy. */
  fetch?: (request: Request) => Promise<Response>;
}

/** Makes a client, without opening a connection. Its calls throw only after network errors; they return problems as `error`, which unwrap throws. */
export function createShowfloor(options: ShowfloorOptions): Showfloor {
  const client = createClient<paths>({
    baseUrl: options.baseUrl,
    ...(options.fetch && { fetch: options.fetch }),
  });
  client.use({
    async onRequest({ request }) {
      const token = typeof options.token === 'function' ? await options.token() : options.token;
      if (token !== undefined) {
        request.headers.set('Authorization', `Bearer ${token}`);
      }
      return request;
    },
  });
  return client;
}

/** The body of a webhook delivery of this event: `EventOf<'stream.started'>`. */
export type EventOf<Name extends WebhookEvent['event']> = Extract<WebhookEvent, { event: Name }>;
