/**
 * Checks what verifyWebhook throws: InvalidDelivery for the delivery, a TypeError for a malformed secret. If a check fails,
 * it exits with 1 and a message.
 *
 *     node dist/test/webhooks.js
 */
import { InvalidDelivery, verifyWebhook } from '../src/index.js';

function must(met: boolean, what: string): asserts met {
  if (!met) throw new Error(what);
}

const module = 'node:crypto'; // a variable, because the types of Node aren't installed
const { createHmac } = (await import(module)) as {
  createHmac: (hash: string, key: string) => { update: (text: string) => { digest: (encoding: string) => string } };
};

const key = 'the 32 bytes of an endpoint key.';
const secret = `whsec_${btoa(key)}`;

/** The headers of a delivery that is signed now; `change` replaces some. */
function headersOf(body: string, change: Record<string, string> = {}): Record<string, string> {
  const time = String(Math.floor(Date.now() / 1000));
  const mac = createHmac('sha256', key).update(`evt_1.${time}.${body}`).digest('base64');
  return { 'webhook-id': 'evt_1', 'webhook-timestamp': time, 'webhook-signature': `v1,${mac}`, ...change };
}

async function failure(body: string, headers: Record<string, string>, withSecret: string): Promise<unknown> {
  try {
    await verifyWebhook({ body, headers, secret: withSecret });
  } catch (error) {
    return error;
  }
  throw new Error(`accepted: ${body}`);
}

const body = '{"event":"stream.started"}';
must((await verifyWebhook({ body, headers: headersOf(body), secret })).event === 'stream.started', 'a signed delivery is accepted');

for (const [what, text, headers] of [
  ['a body that is no JSON', '{"event":', headersOf('{"event":')],
  ['another body', '{}', headersOf(body)],
  ['a signature that is no base64', body, headersOf(body, { 'webhook-signature': 'v1,%%%' })],
  ['a signature of 44 other characters', body, headersOf(body, { 'webhook-signature': `v1,${'='.repeat(44)}` })],
  ['an empty signature', body, headersOf(body, { 'webhook-signature': '' })],
  ['a time that is no number', body, headersOf(body, { 'webhook-timestamp': 'today' })],
  ['an old delivery', body, headersOf(body, { 'webhook-timestamp': '1' })],
  ['no headers', body, {}],
] as const) {
  const error = await failure(text, headers, secret);
  must(error instanceof InvalidDelivery, `${what}: ${error}`);
}

for (const wrong of ['', 'whsec_', 'whsec_%%%', `${secret}§`, undefined as unknown as string]) {
  const error = await failure(body, headersOf(body), wrong);
  must(error instanceof TypeError && error.message.includes('secret') && !error.message.includes(btoa(key)), `the secret ${wrong}: ${error}`);
}

console.log('all is well');
