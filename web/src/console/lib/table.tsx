import { Button, Checkbox, Group, Menu, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback, useMediaQuery } from '@mantine/hooks';
import { useNavigate, useSearch, Link } from '@tanstack/react-router';
import { DataTable } from 'mantine-datatable';
import { useState, type ReactNode } from 'react';

import { useCommon } from '../messages/common.js';
import { download, toCsv } from './csv.js';
import { number } from './format.js';
import { Pager } from './pager.js';
import { ProblemNote } from './problem.js';

// Column of a list. The value is what the CSV file has, and what sorting compares.
export interface Column<R> {
  key: string;
  title: string;
  value: (row: R) => string | number | boolean | null | undefined;
  render?: (row: R) => ReactNode;
  // The column is hidden on narrow screens.
  wide?: boolean;
}

export interface Filter { key: string; label: string; options?: { value: string; label: string }[] }

// The state of a list, kept in the page's address: filters, sort, page and hidden columns.
export type ListState = Record<string, string>;

export function useListState(): [ListState, (change: Record<string, string | undefined>) => void] {
  const search: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigate();
  const state = Object.fromEntries(Object.entries(search).map(([key, value]) => [key, String(value)]));
  const change = (next: Record<string, string | undefined>) => {
    const merged = Object.fromEntries(Object.entries({ ...state, ...next }).filter(([, value]) => value));
    void navigate({ to: '.', search: merged as never, replace: true });
  };
  return [state, change];
}

export interface Rest<R> { rows: R[]; complete: boolean }

export interface ListProps<R> {
  name: string; // of the CSV file
  label: string;
  rows: R[] | undefined;
  columns: Column<R>[];
  error?: unknown;
  retry?: () => void;
  fetching: boolean;
  filters?: Filter[];
  // The list's page is one of the server's. Without it, the rows are all there are, and are sorted and paged here.
  server?: { total: number; page: number; pageSize: number; fetchPage: (page: number) => Promise<R[]> };
  // Fetches the rows after the loaded ones, for the CSV file.
  rest?: () => Promise<Rest<R>>;
  // Address of a row's page.
  link?: (row: R) => string;
  actions?: (row: R) => ReactNode;
  empty: ReactNode;
  more?: ReactNode;
}

// Columns whose long texts go over several lines.
const wraps = ['name', 'url', 'reason', 'error', 'events', 'answer'];

const pageSize = 25;
// The CSV file has at most 100 pages of the server.
const exportedPages = 100;

export function DataList<R extends { id: string }>(props: ListProps<R>) {
  const { rows, columns, server, link, actions, label } = props;
  const t = useCommon();
  const [state, change] = useListState();
  const hidden = (state.hide ?? '').split(',');
  // Known when the table is first drawn: rows that change their height afterwards move the page.
  const wide = useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false });
  const shown = columns.filter((column) => !hidden.includes(column.key) && (wide || !column.wide));
  const page = server?.page ?? Number(state.page ?? 1);
  const sorted = server || !rows ? rows : sortRows(rows, columns, state);
  const records = server ? sorted : sorted?.slice((page - 1) * pageSize, page * pageSize);
  const empty = records?.length === 0 && !props.fetching;
  return (
    <Stack gap="sm">
      <Toolbar {...props} state={state} change={change} hidden={hidden} />
      <ProblemNote error={props.error} onRetry={props.retry} />
      {empty ? <Stack align="center" py="xl" role="status">{props.empty}</Stack> : (
        <DataTable<R>
          withTableBorder
          striped="even"
          minHeight={rows ? 0 : 150}
          records={records ?? []}
          idAccessor="id"
          fetching={props.fetching && !rows}
          noRecordsText={props.error ? '' : t('loading')}
          scrollAreaProps={{ viewportProps: { tabIndex: 0, 'aria-label': label, role: 'group' } }}
          columns={[
            ...shown.map((column, index) => ({
              accessor: column.key,
              title: column.title,
              sortable: !server,
              noWrap: !wraps.includes(column.key),
              render: (row: R) => {
                const content = column.render ? column.render(row) : String(column.value(row) ?? '–');
                return index === 0 && link ? <Link className="link" to={link(row)}>{content}</Link> : content;
              },
            })),
            ...(actions ? [{ accessor: 'actions', title: t('actions'), textAlign: 'right' as const, render: actions }] : []),
          ]}
          sortStatus={{ columnAccessor: state.sort ?? '', direction: state.order === 'desc' ? 'desc' : 'asc' }}
          onSortStatusChange={({ columnAccessor, direction }) => change({ sort: String(columnAccessor), order: direction })}
        />
      )}
      <Pager page={page} pageSize={server?.pageSize ?? pageSize} total={server?.total ?? rows?.length ?? 0} go={(to) => change({ page: String(to) })} />
      {props.more}
    </Stack>
  );
}

function sortRows<R>(rows: R[], columns: Column<R>[], { sort, order }: ListState): R[] {
  const column = columns.find(({ key }) => key === sort);
  if (!column) return rows;
  const sign = order === 'desc' ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [x, y] = [column.value(a) ?? '', column.value(b) ?? ''];
    return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y)));
  });
}

interface ToolbarProps<R> extends ListProps<R> { state: ListState; change: (next: ListState) => void; hidden: string[] }

function Toolbar<R>({ filters = [], columns, rows, rest, server, name, state, change, hidden }: ToolbarProps<R>) {
  const t = useCommon();
  const [exporting, setExporting] = useState(false);
  const [error, setError] = useState<unknown>(null);
  // The number of exported rows, if the list has more.
  const [part, setPart] = useState<number | null>(null);
  const exportRows = async () => {
    setExporting(true);
    setError(null);
    try {
      const further = server ? undefined : await rest?.();
      const all = server ? [] : [...rows ?? [], ...further?.rows ?? []];
      setPart(further?.complete === false ? all.length : null);
      if (server) {
        const last = Math.min(exportedPages, Math.ceil(server.total / server.pageSize));
        for (let page = 1; page <= last; page += 1) all.push(...await server.fetchPage(page));
      }
      download(`${name}.csv`, toCsv(columns, all));
    } catch (failure) {
      setError(failure);
    } finally {
      setExporting(false);
    }
  };
  return (
    <Group gap="xs" align="end">
      {filters.map((filter) => <FilterInput key={filter.key} filter={filter} value={state[filter.key] ?? ''} change={change} />)}
      <Group gap="xs" ml="auto">
        <Menu closeOnItemClick={false} position="bottom-end" withinPortal={false}>
          <Menu.Target><Button variant="default" size="xs">{t('columns')}</Button></Menu.Target>
          <Menu.Dropdown>
            {columns.slice(1).map(({ key, title }) => (
              <Menu.Item key={key} component="div" p={4}>
                <Checkbox label={title} size="xs" checked={!hidden.includes(key)} onChange={() => change({
                  hide: (hidden.includes(key) ? hidden.filter((other) => other !== key) : [...hidden, key]).filter(Boolean).join(','),
                })} />
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
        <Button variant="default" size="xs" loading={exporting} disabled={!rows} onClick={() => void exportRows()}>{t('exportCsv')}</Button>
      </Group>
      <ProblemNote error={error} onRetry={() => void exportRows()} />
      {part !== null && <Text size="sm" w="100%" role="status">{t('exportedPart', { n: number(part) })}</Text>}
    </Group>
  );
}

function FilterInput({ filter, value, change }: { filter: Filter; value: string; change: (next: ListState) => void }) {
  const t = useCommon();
  const [text, setText] = useState(value);
  const apply = useDebouncedCallback((next: string) => change({ [filter.key]: next, page: '' }), 300);
  if (filter.options) {
    return (
      <Select size="xs" label={filter.label} value={value} w={150} allowDeselect={false} comboboxProps={{ withinPortal: false }}
        data={[{ value: '', label: t('all') }, ...filter.options]} onChange={(next) => change({ [filter.key]: next ?? '', page: '' })} />
    );
  }
  return (
    <TextInput size="xs" label={filter.label} value={text} type="search"
      onChange={(event) => { setText(event.currentTarget.value); apply(event.currentTarget.value); }} />
  );
}
