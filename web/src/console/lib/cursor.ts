import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';

interface Answer<R> { data?: R[]; error?: unknown; response: Response }
interface Loaded<R> { state: { data?: { pages: { rows: R[] }[] } } }

const pageSize = 200;
const restPages = 100;

// The rows of a list with a cursor: 200 at first, and 200 more for each fetchNextPage. everyMs is the time between reloads, or a function
// that returns it for the loaded rows. If it is a number, a list with several pages is not reloaded. `rest` fetches the rows after the
// loaded ones, at most 20,000, and keeps them out of the list. Its `complete` is false if there are more; onRows gets the number so far.
// It ends with an error when the component is removed.
export function useCursorList<R>(
  key: unknown[], get: (query: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<Answer<R>>, everyMs?: number | ((rows: R[]) => number),
) {
  const getPage = async (cursor: string, signal: AbortSignal) => {
    const { data, error, response } = await get({ limit: pageSize, ...(cursor && { cursor }) }, signal);
    if (!data) throw error ?? new TypeError(`status ${response.status}`);
    return { rows: data, next: nextCursor(response) };
  };
  const list = useInfiniteQuery({
    queryKey: key,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => getPage(pageParam, signal),
    getNextPageParam: ({ next }) => next,
    // Several pages are loaded again only if everyMs depends on the rows. For other lists, events and changes do it.
    ...(everyMs && { refetchInterval: ({ state: { data: loaded } }: Loaded<R>) => {
      const pages = loaded?.pages ?? [];
      if (typeof everyMs === 'function') return everyMs(pages.flatMap((page) => page.rows));
      return pages.length > 1 ? false : everyMs;
    } }),
  });
  const { data } = list;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.rows), [data]);
  const removed = useRef<AbortController>(null);
  useEffect(() => {
    const controller = new AbortController();
    removed.current = controller;
    return () => controller.abort();
  }, []);
  const rest = async (onRows?: (rows: number) => void) => {
    const signal = removed.current?.signal ?? AbortSignal.abort();
    const found: R[] = [];
    let next = data?.pages.at(-1)?.next;
    for (let pages = 0; next && pages < restPages; pages += 1) {
      const page = await getPage(next, signal);
      found.push(...page.rows);
      next = page.next;
      onRows?.(found.length);
    }
    return { rows: found, complete: !next };
  };
  return { ...list, rows, rest };
}

// The cursor of a list's next page; undefined on the last one.
export function nextCursor(response: Response): string | undefined {
  const url = /<([^>]*)>\s*;\s*rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
  return url ? new URL(url, location.origin).searchParams.get('cursor') ?? undefined : undefined;
}
