import type { WebhookEvent } from './gen/api.js';

/** The largest difference between the time of a delivery and this machine's clock, in seconds, as Standard Webhooks advises. */
const tolerance = 300;

export interface Delivery {
  /** The raw body, exactly as it arrived: parsing and writing it again breaks the signature. */
  body: string;
  /** The request's headers: those of fetch, or an object with lower-case names as in Node. */
  headers: Headers | Record<string, string | string[] | undefined>;
  /** The endpoint's secret, `whsec_…`. */
  secret: string;
}

/** The delivery isn't from Showfloor, is too old, isn't JSON, or its secret was replaced. Answer 400. */
export class InvalidDelivery extends Error {}

/**
 * Checks the signature (Standard Webhooks) and the time of a webhook delivery, and returns its event. `event` says which type
 * the data has. Ignore events that you don't know. Throws InvalidDelivery for the delivery, and a TypeError if `secret` is not of
 * the form `whsec_…`: then the receiver's own configuration is wrong, so don't answer 400.
 */
export async function verifyWebhook({ body, headers, secret }: Delivery): Promise<WebhookEvent> {
  const raw = keyOf(secret);
  const header = (name: string): string => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    if (typeof value !== 'string') throw new InvalidDelivery(`the header ${name} is missing`);
    return value;
  };
  const time = header('webhook-timestamp');
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= tolerance)) {
    throw new InvalidDelivery('the delivery is too old, or this clock is wrong');
  }
  const { subtle } = await webCrypto();
  const key = await subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  const signed = new TextEncoder().encode(`${header('webhook-id')}.${time}.${body}`);
  for (const signature of header('webhook-signature').split(' ')) {
    const mac = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature)?.[1];
    if (mac !== undefined && (await subtle.verify('HMAC', key, bytes(mac), signed))) {
      return parse(body);
    }
  }
  throw new InvalidDelivery('no signature is valid for this secret');
}

/** The bytes of a secret. Throws a TypeError, which doesn't show the secret. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  let key = new Uint8Array();
  try {
    key = bytes(secret.replace(/^whsec_/, ''));
  } catch {
    // It is no base64, or no string at all: a setting that is missing at run time.
  }
  if (key.length === 0) throw new TypeError('the secret is not of the form whsec_…');
  return key;
}

/** Decodes base64. */
function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

function parse(body: string): WebhookEvent {
  try {
    return JSON.parse(body) as WebhookEvent;
  } catch {
    throw new InvalidDelivery('the body is not JSON');
  }
}

/** Node 18 has no global crypto. */
async function webCrypto(): Promise<Crypto> {
  const module = 'node:crypto'; // a variable, because the types of Node aren't installed
  return globalThis.crypto ?? ((await import(module)) as { webcrypto: Crypto }).webcrypto;
}
