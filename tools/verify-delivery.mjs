/**
 * Verifies a webhook delivery with the libraries of receivers: standardwebhooks, svix and our client. Prints the event's name
 * once for each. Each must refuse the delivery if its body is changed.
 *
 *     node verify-delivery.mjs <the compiled TypeScript client>  <{"body", "headers", "secret"} on standard input
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { Webhook as Standard } from 'standardwebhooks';
import { Webhook as Svix } from 'svix';

const { verifyWebhook } = await import(pathToFileURL(join(process.argv[2], 'src/index.js')).href);
const { body, headers, secret } = JSON.parse(readFileSync(0, 'utf8'));

for (const verify of [
  async (text, key) => new Standard(key).verify(text, headers),
  async (text, key) => new Svix(key).verify(text, headers),
  (text, key) => verifyWebhook({ body: text, headers, secret: key }),
  (text, key) => verifyWebhook({ body: text, headers: new Headers(headers), secret: key }),
]) {
  const event = (await verify(body, secret)) ?? JSON.parse(body); // svix only verifies
  console.log(event.event);
  await assert.rejects(verify(`${body} `, secret));
  await assert.rejects(verify(body, `whsec_${Buffer.alloc(32).toString('base64')}`));
}
