import type { useCursorList } from './cursor.js';
import { MoreButton } from './more.js';
import { DataList, type ListProps } from './table.js';

type Loading = 'rows' | 'rest' | 'error' | 'retry' | 'fetching' | 'server' | 'more';
type List<R> = ReturnType<typeof useCursorList<R>>;

// A list with a cursor: the rows that are loaded, and a button for more. Its CSV file has all rows.
export function CursorList<R extends { id: string }>({ list, ...props }: Omit<ListProps<R>, Loading> & { list: List<R> }) {
  return (
    <DataList<R> {...props} rows={list.rows} rest={list.rest} error={list.error} retry={() => void list.refetch()} fetching={list.isFetching}
      more={<MoreButton list={list} />} />
  );
}
