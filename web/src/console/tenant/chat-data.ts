import { keepPreviousData, useInfiniteQuery, useQueries } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';

import type { ChannelModerationAction, ChannelRestriction } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { useIdentity, useMay } from './identity.js';

// A user of a chat, whom the tenant's app names by its own id.
export interface ChatUser { userId: string; name: string }

export const restrictionKinds = ['mute', 'timeout', 'ban'] as const;
export type RestrictionKind = (typeof restrictionKinds)[number];

// A restriction that applies now. until is null for one without an end.
export interface RestrictionState { kind: RestrictionKind; userId: string; until: string | null }
export interface Restriction extends RestrictionState { since: string; reason: string | null }

export const messagesKey = (id: string) => ['channel-messages', id];
const moderationKey = (id: string) => ['chat-moderation', id];
export const moderationKeys = (id: string) => [moderationKey(id), ['channel-members', id]];
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

// The newest messages of a chat, oldest first, and 50 older ones for each fetchNextPage. authors has those of each page.
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
  const authors = useMemo(() => (list.data?.pages ?? []).map((page) => page.map(({ authorId }) => authorId)), [list.data]);
  return { ...list, messages, authors };
}

const moderationMs = 10_000;

const toRestriction = ({ kind, userId, since, until, reason }: ChannelRestriction): Restriction => ({ kind, userId, since, until, reason });

// The restrictions of a chat that apply now, newest first: 200, and 200 more for each fetchNextPage.
export function useRestrictions(id: string) {
  const list = useCursorList<ChannelRestriction>([...moderationKey(id), 'all'], (query, signal) => (
    client.GET('/v1/me/channels/{id}/restrictions', { params: { path: { id }, query }, signal })
  ), moderationMs);
  const { rows } = list;
  const restrictions = useInForce(useMemo(() => rows?.map(toRestriction), [rows]));
  return { ...list, restrictions };
}

// The restrictions that apply now, of users in groups of 50 at most. A group is loaded again every 10 s, with more than 4 groups less often,
// so that they don't use up the limit of requests.
export function useRestrictionsOf(id: string, groups: string[][]) {
  const refetchInterval = moderationMs * Math.max(1, groups.length / 4);
  const { data, error } = useQueries({
    queries: groups.map((users) => {
      const userId = [...new Set(users)].sort();
      return {
        queryKey: [...moderationKey(id), 'of', userId],
        queryFn: ({ signal }: { signal: AbortSignal }) => unwrap(client.GET('/v1/me/channels/{id}/restrictions', {
          params: { path: { id }, query: { limit: 3 * userId.length, userId } }, signal, // a user has three restrictions at most
        })),
        enabled: userId.length > 0,
        placeholderData: keepPreviousData<ChannelRestriction[]>,
        refetchInterval,
      };
    }),
    combine: combined,
  });
  return { restrictions: useInForce(data) ?? [], error };
}

// The restrictions of all groups; a user may be in several.
function combined(groups: { data?: ChannelRestriction[] | undefined; error: Error | null }[]) {
  const byKey = new Map(groups.flatMap(({ data }) => data ?? []).map((row) => [`${row.kind} ${row.userId}`, toRestriction(row)]));
  return { data: [...byKey.values()], error: groups.find(({ error }) => error)?.error ?? null };
}

// The restrictions without those that have ended in the meantime.
export function useInForce<R extends RestrictionState>(list: R[] | undefined): R[] | undefined {
  const [now, setNow] = useState(Date.now);
  const applies = useMemo(() => list?.filter(({ until }) => !until || Date.parse(until) > now), [list, now]);
  const nextEnd = Math.min(...(applies ?? []).map(({ until }) => (until ? Date.parse(until) : Infinity)));
  useEffect(() => {
    if (nextEnd === Infinity) return undefined;
    const timer = setTimeout(() => setNow(Date.now()), Math.max(0, nextEnd - Date.now()) + 50);
    return () => clearTimeout(timer);
  }, [nextEnd]);
  return applies;
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
