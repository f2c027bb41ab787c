import { useQueries, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

import type { Product, Stream } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useRooms } from '../messages/rooms.js';
import { useMay } from './identity.js';

const staleTime = 60_000;

// The newest streams and sessions: one page of their lists.
const newest = { params: { query: { limit: 200 } } };
const streams = () => unwrap(client.GET('/v1/me/streams', newest));
const sessions = () => unwrap(client.GET('/v1/me/sessions', newest));

const usePage = <T>(kind: string, list: () => Promise<T[]>, enabled: boolean) => (
  useQuery({ queryKey: [kind, 'names'], queryFn: list, staleTime, enabled })
);

// The things with ids, by id: those of one page of their list, and the others one by one.
function useByID<T extends { id: string }>(
  kind: string, ids: string[], allowed: boolean, list: () => Promise<T[]>, get: (id: string) => Promise<T>,
) {
  const page = usePage(kind, list, allowed && ids.length > 1);
  const known = new Map((page.data ?? []).map((thing) => [thing.id, thing]));
  const missing = allowed && (ids.length === 1 || page.isFetched) ? [...new Set(ids)].filter((id) => !known.has(id)) : [];
  const single = useQueries({ queries: missing.map((id) => ({ queryKey: [kind, 'name', id], queryFn: () => get(id), staleTime })) });
  for (const { data } of single) if (data) known.set(data.id, data);
  return known;
}

// The products with ids, as far as they are loaded and the role may see them.
export function useProducts(ids: string[]): Map<string, Product> {
  const may = useMay();
  return useByID('product', ids, may('catalog:read'),
    () => unwrap(client.GET('/v1/me/catalog/products', { params: { query: { limit: 500 } } })),
    (id) => unwrap(client.GET('/v1/me/catalog/products/{id}', { params: { path: { id } } })));
}

// The streams with ids, as far as they are loaded and the role may see them.
export function useStreams(ids: string[]): Map<string, Stream> {
  const may = useMay();
  return useByID('stream', ids, may('streams:read'), streams,
    (id) => unwrap(client.GET('/v1/me/streams/{id}', { params: { path: { id } } })));
}

// The names of the newest streams and sessions by id, as far as the role may see them.
export function useNewestNames(): Map<string, string> {
  const may = useMay();
  const rooms = useRooms();
  const { data: newStreams } = usePage('stream', streams, may('streams:read'));
  const { data: newSessions } = usePage('session', sessions, may('sessions:read'));
  return useMemo(() => new Map([
    ...(newStreams ?? []).map(({ id, name }) => [id, name] as const),
    ...(newSessions ?? []).map(({ id, name, type }) => [id, name || rooms(type)] as const),
  ]), [newStreams, newSessions, rooms]);
}
