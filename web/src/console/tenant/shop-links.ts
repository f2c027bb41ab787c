import type { Recording, Stream } from '../../gen/api.js';

const page = () => `${location.origin}/scenarios/shopping/`;

// Addresses of the hosted page, as in docs/shopping.md.
export const showLink = (streamID: string, token = '') => `${page()}?${new URLSearchParams({ room: streamID, ...(token && { token }) })}`;
export const replayLink = (recordingID: string) => `${page()}?${new URLSearchParams({ vod: recordingID })}`;

// Whether a replay needs no token. publicReplay null opens the recordings that have products in their timeline.
export const isOpenReplay = ({ publicReplay }: Stream, { productTimeline }: Recording) => publicReplay ?? productTimeline.length > 0;

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

export interface Embedded { room?: string; vod?: string; tokenUrl: string; cart: string }

// The element that shows the page in a website. An attribute with its default is left out.
export function embedCode({ room, vod, tokenUrl, cart }: Embedded): string {
  const attributes = [
    ['src', `${location.origin}/assets/embed.js`], ['data-room', room], ['data-vod', vod], ['data-token-url', tokenUrl.trim()],
    ['data-cart', cart === 'shop' ? 'shop' : undefined],
  ].filter(([, value]) => value);
  return `<script ${attributes.map(([name, value]) => `${name}="${escaped(value ?? '')}"`).join('\n        ')}\n        async></script>`;
}

// The call by which a customer's own server makes a token.
export const tokenCall = (streamID: string) => [
  `curl -X POST ${location.origin}/v1/me/streams/${streamID}/sfu-token \\`, '  -H "Authorization: Bearer $SHOWFLOOR_API_KEY" \\',
  "  -H 'Content-Type: application/json' \\", `  -d '{"userId": "customer-4711", "displayName": "Ada"}'`,
].join('\n');
