import { useMemo } from 'react';

import type { UsageHistory, UsageHistoryRow, UsageMeter } from '../../gen/api.js';
import { amountText, time, utcDate } from '../lib/format.js';
import { Empty, Section } from '../lib/parts.js';
import { DataList, type Column } from '../lib/table.js';
import { useStates } from '../messages/states.js';
import { useUsage } from '../messages/usage.js';

// The amounts of all meters in one hour or day, or of one resource. The id is its time or the resource's.
export interface AmountRow { id: string; amounts: Partial<Record<UsageMeter, number>> }

export function amountRows(rows: UsageHistoryRow[], idOf: (row: UsageHistoryRow) => string): AmountRow[] {
  const found = new Map<string, AmountRow>();
  for (const row of rows) {
    const id = idOf(row);
    const one = found.get(id) ?? { id, amounts: {} };
    one.amounts[row.meter] = row.amount;
    found.set(id, one);
  }
  return [...found.values()];
}

// A column for each meter with usage. The first ones are shown on narrow screens too.
export function useAmountColumns({ totals }: UsageHistory): Column<AmountRow>[] {
  const states = useStates();
  return totals.map(({ meter }, index) => ({
    key: meter, title: states(meter), value: ({ amounts }) => amounts[meter],
    render: ({ amounts }) => amountText(meter, amounts[meter]), wide: index > 1,
  }));
}

// A row for each hour or day with usage, newest first.
export function UsageRows({ history }: { history: UsageHistory }) {
  const t = useUsage();
  const columns = useAmountColumns(history);
  const rows = useMemo(() => amountRows(history.rows, ({ startsAt }) => startsAt).reverse(), [history.rows]);
  const hours = history.by === 'hour';
  return (
    <Section title={t('table')}>
      <DataList<AmountRow> name="usage" label={t('table')} rows={rows} fetching={false} empty={<Empty text={t('empty')} />}
        columns={[
          { key: 'at', title: t(hours ? 'hour' : 'day'), value: ({ id }) => id, render: ({ id }) => (hours ? time(id) : utcDate(id)) },
          ...columns,
        ]} />
    </Section>
  );
}
