import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';

import type { ChannelModerationAction } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { useIdentity, useMay } from './identity.js';

// A user of a chat, whom the tenant's app names by its own id.
export interface ChatUser { userId: string; name: string }

export const restrictionKinds = ['mute', 'timeout', 'ban'] as const;
export type RestrictionKind = (typeof restrictionKinds)[number];

// A restriction that applies now. until is null for one without an end.
export interface Restriction { kind: RestrictionKind; userId: string; since: string; until: string | null; reason: string | null }

export const messagesKey = (id: string) => ['channel-messages', id];
export const moderationKeys = (id: string) => [['chat-moderation', id], ['channel-members', id]];
export const channelKey = (id: string) => ['get', '/v1/me/channels/{id}', { params: { path: { id } } }];

// The moderator's id in the record of the chat: the user's, also while an admin acts for the tenant, whose id tenants don't see. Null if
// the role may not moderate.
export function useModerator(): string | null {
  const { user } = useIdentity();
  const may = useMay();
  return user && may('chat:write') ? user.id : null;
}

const pageSize = 50;
const pollMs = 3000;

// The newest messages of a chat, oldest first, and 50 older ones for each fetchNextPage.
export function useMessages(id: string) {
  const list = useInfiniteQuery({
    queryKey: messagesKey(id),
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => unwrap(client.GET('/v1/me/channels/{id}/messages', {
      params: { path: { id }, query: { limit: pageSize, ...(pageParam && { before: pageParam }) } }, signal,
    })),
    getNextPageParam: (page) => (page.length === pageSize ? page[0]?.id : undefined),
    // Older pages are not loaded again and again: events and changes do it.
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) > 1 ? false : pollMs),
  });
  const messages = useMemo(() => list.data?.pages.toReversed().flat(), [list.data]);
  return { ...list, messages };
}

const mostActions = 2000;
const moderationMs = 10_000;

// The restrictions of a chat that apply now, newest first. The server lists actions, and each replaces earlier ones of its kind and user.
export function useRestrictions(id: string) {
  const list = useCursorList<ChannelModerationAction>(['chat-moderation', id], (query, signal) => (
    client.GET('/v1/me/channels/{id}/moderation', { params: { path: { id }, query }, signal })
  ), moderationMs);
  const { rows, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const more = hasNextPage && !isFetchingNextPage && !isFetchNextPageError && (rows?.length ?? 0) < mostActions;
  // Two parts of a page may use it: neither cancels the other's request.
  useEffect(() => { if (more) void fetchNextPage({ cancelRefetch: false }); }, [more, fetchNextPage]);
  const [now, setNow] = useState(Date.now);
  const restrictions = useMemo(() => rows && inForce(rows, now), [rows, now]);
  const nextEnd = Math.min(...(restrictions ?? []).map(({ until }) => (until ? Date.parse(until) : Infinity)));
  useEffect(() => {
    if (nextEnd === Infinity) return undefined;
    const timer = setTimeout(() => setNow(Date.now()), Math.max(0, nextEnd - Date.now()) + 50);
    return () => clearTimeout(timer);
  }, [nextEnd]);
  return { ...list, restrictions };
}

function inForce(actions: ChannelModerationAction[], now: number): Restriction[] {
  const decided = new Set<string>();
  return actions.flatMap(({ kind, target, active, expiresAt, reason, createdAt }) => {
    const key = `${kind} ${target}`;
    if (kind === 'slowmode' || target === null || decided.has(key)) return [];
    decided.add(key);
    const over = expiresAt !== null && Date.parse(expiresAt) <= now;
    return active && !over ? [{ kind, userId: target, since: createdAt, until: expiresAt, reason }] : [];
  });
}

// A restriction to make. durationSec counts for a timeout only.
interface RestrictionInput { target: string; by: string; reason?: string; durationSec?: number }

export function restrict(
  id: string, kind: RestrictionKind, { durationSec = 0, ...body }: RestrictionInput,
): Promise<ChannelModerationAction> {
  const path = { params: { path: { id } } };
  switch (kind) {
    case 'mute': return unwrap(client.POST('/v1/me/channels/{id}/moderate/mute', { ...path, body }));
    case 'ban': return unwrap(client.POST('/v1/me/channels/{id}/moderate/ban', { ...path, body }));
    default: return unwrap(client.POST('/v1/me/channels/{id}/moderate/timeout', { ...path, body: { ...body, durationSec } }));
  }
}

export function liftRestriction(id: string, kind: RestrictionKind, target: string, by: string): Promise<ChannelModerationAction> {
  const path = { params: { path: { id } } };
  const body = { target, by, active: false };
  switch (kind) {
    case 'mute': return unwrap(client.POST('/v1/me/channels/{id}/moderate/mute', { ...path, body }));
    case 'ban': return unwrap(client.POST('/v1/me/channels/{id}/moderate/ban', { ...path, body }));
    default: return unwrap(client.POST('/v1/me/channels/{id}/moderate/timeout', { ...path, body: { target, by, durationSec: 0 } }));
  }
}
