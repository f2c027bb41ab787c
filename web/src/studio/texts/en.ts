/** The studio's texts in English. All other languages have the same keys: see Texts. */
export const en = {
  studio: 'Studio',
  onAir: 'On air',
  offAir: 'Off air',
  onlyHosts: 'This page is for hosts',
  onlyHostsText: 'Your link is for a viewer. Ask the organiser for a host’s link.',
  noTokenText: 'The link to the studio is not complete. Ask the organiser for a host’s link.',

  // The broadcast.
  broadcast: 'Broadcast',
  checkCamera: 'Check camera and microphone',
  goLive: 'Go live',
  starting: 'Starting …',
  stopCamera: 'Stop the camera',
  liveFromHere: 'You are live from this browser.',
  preview: 'Your camera. Viewers don’t see it yet.',
  cameraFailed: 'The camera or microphone can’t be opened. Allow both in the browser, and close other programs that use them.',
  roomFailed: 'The connection failed. Try again.',
  useEncoder: 'Use an encoder',
  encoderTitle: 'Encoder, such as OBS',
  encoderText: 'The key is shown once. A former key stops working for the next broadcast.',
  makeKey: 'Make a new key',
  server: 'Server',
  key: 'Stream key',
  copy: 'Copy',
  copied: 'Copied',
  endShow: 'End the show',
  endTitle: 'End the show?',
  endText: 'The broadcast ends for all viewers. An encoder is refused for 5 minutes.',
  keepOn: 'Keep on',
  ended: 'The show has ended.',

  // Products.
  pin: 'Show',
  unpin: 'Hide',
  auctionIt: 'Auction',
  shownNow: 'Shown now',
  noProducts: 'The show has no products. Add them to the catalog, or to the stream’s products.',
  uncounted: 'Stock isn’t counted',
  units: (units: number) => (units === 1 ? '1 unit' : `${units} units`),

  // Drops.
  drops: 'Discounts',
  newDrop: 'Drop a discount',
  code: 'Code',
  codeHint: '3 to 40 letters, digits, - and _',
  percent: 'Percent off',
  minutes: 'Minutes',
  mostUses: 'Uses at most',
  dropIt: 'Drop it now',
  noDrops: 'No discount is running.',

  // Auctions.
  auctions: 'Auctions',
  noAuctions: 'No auction is running. Start one at a product.',
  startAuction: (product: string) => `Auction: ${product}`,
  startingBid: 'Starting bid',
  increment: 'Step',
  seconds: 'Seconds',
  reserve: 'Reserve price',
  optional: 'optional',
  start: 'Start now',
  cancel: 'Cancel the auction',
  states: { LIVE: 'Running', ENDED: 'Over', SETTLED: 'Paid', CANCELLED: 'Cancelled' },
  wrongAmount: (example: string) => `Enter an amount, such as ${example}.`,

  // Sales.
  sales: 'Sales',
  noSales: 'No orders yet.',
  paidTotal: (orders: number) => (orders === 1 ? '1 paid order' : `${orders} paid orders`),
  someone: 'No name',
  orderStates: {
    PENDING: 'Waiting for payment', REVIEW: 'In review', PAID: 'Paid', FULFILLED: 'Handed over', EXPIRED: 'Not paid',
    PARTIALLY_REFUNDED: 'Refunded in part', REFUNDED: 'Refunded',
  },

  // Chat.
  moderate: (name: string) => `Moderate ${name}`,
  delete: 'Delete the message',
  timeout: 'Mute for 5 minutes',
  ban: 'Ban',
  done: 'Done',
};

/** All texts of one language. */
export type Texts = typeof en;
