import { SimpleGrid } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';

import type { UsageHistory } from '../../gen/api.js';
import { Bars } from '../lib/bars.js';
import { amountText } from '../lib/format.js';
import { Empty, Section } from '../lib/parts.js';
import { DataList } from '../lib/table.js';
import { useStates } from '../messages/states.js';
import { useUsage } from '../messages/usage.js';
import { useNewestNames } from './names.js';
import { amountRows, useAmountColumns, type AmountRow } from './usage-rows.js';

const kinds = [
  { prefix: 'str_', text: 'stream', page: '/streams/$id' }, { prefix: 'sess_', text: 'session', page: '/sessions/$id' },
  { prefix: 'rec_', text: 'recording', page: '/recordings/$id' }, { prefix: 'tc_', text: 'transcode', page: null },
] as const;

const kindOf = (id: string) => kinds.find(({ prefix }) => id.startsWith(prefix));

function Resource({ id, name }: { id: string; name: string | undefined }): ReactNode {
  const page = kindOf(id)?.page;
  return page ? <Link className="link" to={page} params={{ id } as never}>{name ?? id}</Link> : name ?? id;
}

const mostBars = 5;

// The streams and other resources with usage: those with the most of each meter, and all of them in a table.
export function ResourceUsage({ history }: { history: UsageHistory }) {
  const t = useUsage();
  const states = useStates();
  const names = useNewestNames();
  const columns = useAmountColumns(history);
  const rows = useMemo(() => amountRows(history.rows, ({ resourceId }) => resourceId ?? ''), [history.rows]);
  const leading = history.totals.map(({ meter }) => ({
    meter, rows: history.rows.filter((row) => row.meter === meter).sort((a, b) => b.amount - a.amount).slice(0, mostBars),
  })).filter((one) => one.rows.length > 0);
  return (
    <>
      <SimpleGrid cols={{ base: 1, md: Math.min(2, leading.length) }}>
        {leading.map(({ meter, rows: most }) => (
          <Section key={meter} title={states(meter)}>
            <Bars of={most.map(({ resourceId, amount }) => ({
              key: resourceId ?? '', label: <Resource id={resourceId ?? ''} name={names.get(resourceId ?? '')} />,
              value: amount, text: amountText(meter, amount),
            }))} />
          </Section>
        ))}
      </SimpleGrid>
      <Section title={t('table')}>
        <DataList<AmountRow> name="usage" label={t('table')} rows={rows} fetching={false} empty={<Empty text={t('empty')} />}
          columns={[
            { key: 'name', title: t('resource'), value: ({ id }) => names.get(id) ?? id,
              render: ({ id }) => <Resource id={id} name={names.get(id)} /> },
            { key: 'kind', title: t('kind'), value: ({ id }) => t(kindOf(id)?.text ?? 'other'), wide: true },
            ...columns,
          ]} />
      </Section>
    </>
  );
}
