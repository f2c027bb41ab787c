import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { unwrap } from './api.js';
import { Empty } from './parts.js';
import { DataList, useListState, type Column, type Filter } from './table.js';

interface Page<R> { items: R[]; page: number; pageSize: number; total: number }
type Query = Record<string, string>;

export interface AdminListProps<R> {
  name: string;
  label: string;
  // Fetches a page with the filters of the page's address.
  get: (query: Query) => Promise<{ data?: Page<R>; error?: unknown; response: Response }>;
  columns: Column<R>[];
  filters?: Filter[];
  link?: (row: R) => string;
  actions?: (row: R) => ReactNode;
  empty: string;
}

const pageSize = '50';

// A list of the admin console, which the server filters and pages.
export function AdminList<R extends { id: string }>({ name, label, get, columns, filters = [], link, actions, empty }: AdminListProps<R>) {
  const [state] = useListState();
  const query: Query = { pageSize };
  for (const { key } of filters) if (state[key]) query[key] = state[key];
  const page = state.page ?? '1';
  const list = useQuery({
    queryKey: ['admin-list', name, query, page],
    queryFn: () => unwrap(get({ ...query, page })),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
  return (
    <DataList<R> name={name} label={label} rows={list.data?.items} columns={columns} filters={filters} link={link} actions={actions} error={list.error}
      retry={() => void list.refetch()} fetching={list.isFetching} empty={<Empty text={empty} />}
      server={{
        total: list.data?.total ?? 0, page: list.data?.page ?? Number(page), pageSize: list.data?.pageSize ?? Number(pageSize),
        fetchPage: async (number) => (await unwrap(get({ ...query, page: String(number) }))).items,
      }} />
  );
}
