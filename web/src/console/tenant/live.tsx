import { Paper, Text } from '@mantine/core';
import { useQuery, useQueryClient, type QueryKey } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';

import type { EventName } from '../../gen/api.js';
import { asProblem, client, unwrap } from '../lib/api.js';
import { useLive } from '../messages/live.js';
import { openEventChannel, type EventChannel } from './event-channel.js';

// The realtime channel delivers the tenant's events at once, and the screens that they concern load again. It may lose some, so the list of
// events is read too: each few seconds while the channel isn't open, and seldom while it is.
const everyMs = 4000;
const openEveryMs = 30_000;
const noteAfterMs = 5000;
// The least time between two reloads of screens, however many events come. After a slow one, the pause is three times as long as it took.
const calmMs = 1000;
const calmFactor = 3;
// A burst of events, such as those of one purchase, is one reload, and the pages of several users don't reload at the same moment.
const burstMs = 150;
const spreadMs = 350;
// A request that hangs delays the next reload by this time.
const hangMs = 10_000;
const pageSize = 100;
const badRequest = 400;
const serverFault = 500;

// Words of the query keys that an event, or else the events of a kind, concern.
const concerned: Record<string, string[]> = {
  'chat.moderation.action': ['moderation', 'channel'],
  stream: ['stream', 'overview'], recording: ['recording'], session: ['session', 'overview'], call: ['session', 'call'], chat: ['messages'],
  channel: ['channel', 'moderation'], product: ['product', 'catalog'], inventory: ['product', 'catalog'], discount: ['discount'],
  purchase: ['order', 'overview', 'product', 'funnel', 'sale'], auction: ['auction'], restream: ['restream'], subscription: ['billing', 'plan'], invoice: ['invoice', 'billing'],
  usage: ['billing', 'usage'], ticket: ['ticket'],
};

// Words of the keys that the events concern.
function wordsOf(events: Set<EventName>): string[] {
  return [...[...events].flatMap((event) => concerned[event] ?? concerned[event.split('.')[0] ?? ''] ?? []), 'webhook', 'deliveries'];
}

const hasWord = (key: QueryKey, words: string[]) => key.some((part) => typeof part === 'string' && words.some((word) => part.toLowerCase().includes(word)));

// Reloads the screens that events concern, or all. A request that runs already may have read the database before the event, so it is
// made again.
function useReload() {
  const queries = useQueryClient();
  const waiting = useRef({ events: new Set<EventName>(), all: false });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const running = useRef(false);
  const notBefore = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const plan = () => {
    if (running.current || timer.current || (waiting.current.events.size === 0 && !waiting.current.all)) return;
    timer.current = setTimeout(() => void run(), Math.max(burstMs + Math.random() * spreadMs, notBefore.current - Date.now()));
  };
  const run = async () => {
    timer.current = undefined;
    running.current = true;
    const { events, all } = waiting.current;
    waiting.current = { events: new Set(), all: false };
    const words = wordsOf(events);
    const began = Date.now();
    await Promise.race([
      queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'live' && (all || hasWord(queryKey, words)) }),
      new Promise((done) => { setTimeout(done, hangMs); }),
    ]);
    notBefore.current = Date.now() + Math.max(calmMs, calmFactor * (Date.now() - began));
    running.current = false;
    plan();
  };
  return (events: EventName[] | 'all') => {
    if (events === 'all') waiting.current.all = true;
    else for (const event of events) waiting.current.events.add(event);
    plan();
  };
}

// Follows the tenant's events, and says so if the server can't be reached for 5 seconds.
export default function Live({ tenantID }: { tenantID: string }) {
  const t = useLive();
  const reload = useReload();
  // The id of the newest event of the list. Events of the channel don't count: an older one may be stored after a newer one.
  const last = useRef<string | null>(null);
  // True after the first attempt, also a failed one: events before the next one may be missed.
  const started = useRef(false);
  // The time at which the channel opened; 0 while it isn't open.
  const opened = useRef(0);
  // True while the channel is open and the list was read since.
  const [caughtUp, setCaughtUp] = useState(false);
  const channel = useRef<EventChannel | null>(null);
  const follow = useQuery({
    queryKey: ['live'],
    queryFn: async ({ signal }) => {
      const read = (query: { order?: 'asc'; cursor?: string; limit: number }) => unwrap(client.GET('/v1/me/events', { params: { query }, signal }));
      const cursor = last.current;
      const first = !started.current;
      const began = Date.now();
      started.current = true;
      const events = cursor ? await read({ order: 'asc', cursor, limit: pageSize }).catch((error: unknown) => {
        if (asProblem(error).status !== badRequest) throw error;
        return null; // the event is no longer kept
      }) : null;
      if (events && events.length < pageSize) {
        last.current = events.at(-1)?.id ?? cursor;
        if (events.length > 0) reload(events.map(({ event }) => event));
      } else { // at the start, or far behind: pages of old events say nothing that all screens don't say when they load again
        const newest = (await read({ limit: 1 }))[0]?.id ?? null;
        if (!first && newest !== cursor) reload('all');
        last.current = newest;
      }
      channel.current?.retry(); // the session is valid
      setCaughtUp(opened.current > 0 && began >= opened.current);
      return { at: Date.now() };
    },
    refetchInterval: caughtUp ? openEveryMs + Math.random() * everyMs : everyMs, staleTime: 0, gcTime: 0, retry: false, networkMode: 'always',
    meta: { ownNote: true },
  });
  const catchUp = follow.refetch;
  useEffect(() => {
    const own = openEventChannel(tenantID, {
      open: () => {
        opened.current = Date.now();
        setCaughtUp(false);
        void catchUp();
      },
      event: (event) => reload([event]),
      closed: () => {
        opened.current = 0;
        setCaughtUp(false);
      },
    });
    channel.current = own;
    return () => {
      channel.current = null;
      own.close();
    };
    // The functions change with each drawing, and always do the same.
  }, [tenantID]);
  const { status } = asProblem(follow.error);
  const offline = useOffline(follow.isError && (status === 0 || status >= serverFault));
  if (!offline) return null;
  return <Paper withBorder px="sm" py={4} className="reconnecting" role="status"><Text size="xs">{t('reconnecting')}</Text></Paper>;
}

function useOffline(failing: boolean): boolean {
  const [offline, setOffline] = useState(false);
  useEffect(() => {
    if (!failing) {
      setOffline(false);
      return undefined;
    }
    const timer = setTimeout(() => setOffline(true), noteAfterMs);
    return () => clearTimeout(timer);
  }, [failing]);
  return offline;
}
