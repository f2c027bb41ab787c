import type { EventName } from '../../gen/api.js';

// All values, checked by the compiler: a missing one makes the type below differ.
export const eventNames = [
  'chat.message.created', 'chat.message.edited', 'chat.message.deleted', 'channel.member.joined', 'channel.member.left',
  'chat.moderation.action', 'session.created', 'session.started', 'session.ended', 'session.updated',
  'session.participant.updated', 'session.participant.kicked', 'session.participant.muted', 'session.participant.promoted',
  'session.handraise.raised', 'session.handraise.lowered', 'session.spotlight', 'session.muted-all', 'session.recording.started',
  'session.recording.stopped', 'session.breakouts.created', 'session.breakouts.closed', 'session.summary.ready', 'call.invited',
  'call.answered', 'call.declined', 'call.ended', 'stream.started', 'stream.ended', 'recording.ready', 'recording.assets.ready',
  'product.upserted', 'product.archived', 'inventory.low', 'inventory.depleted', 'discount.created', 'discount.dropped',
  'purchase.completed', 'purchase.mismatched', 'purchase.refunded', 'purchase.refund_failed', 'purchase.disputed',
  'purchase.dispute_closed', 'auction.bid', 'auction.reserve_not_met', 'auction.won', 'restream.started', 'restream.ended',
  'restream.failed', 'subscription.updated', 'invoice.paid', 'invoice.payment_failed', 'usage.threshold', 'usage.spend_cap',
  'ticket.replied', 'ticket.status_changed',
] as const satisfies readonly EventName[];

type Missing = Exclude<EventName, (typeof eventNames)[number]>;
export const complete: Missing extends never ? true : Missing = true;
