import { Group, Progress, Select, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import type { MeterUsage, OperationsUsageRow, UsageMeter } from '../../gen/api.js';
import { api } from '../lib/api.js';
import { amountText, percent, utcDate } from '../lib/format.js';
import { Empty, Waiting } from '../lib/parts.js';
import { DataList, type Column } from '../lib/table.js';
import { useAdminReports } from '../messages/admin-reports.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { useStates } from '../messages/states.js';
import { BarSection } from './bars.js';
import { Tag } from './shown.js';

const meters: UsageMeter[] = [
  'EGRESS_BYTES', 'STREAM_MINUTES', 'VIEWER_MINUTES', 'PARTICIPANT_MINUTES', 'RECORDING_MINUTES', 'STORAGE_BYTES', 'TRANSCODE_MINUTES',
  'PUSHES',
];
const barCount = 10;

type Row = OperationsUsageRow & { id: string };

const usageOf = (row: OperationsUsageRow, meter: UsageMeter) => row.meters.find((usage) => usage.meter === meter);

export function MeterSelect({ value, change }: { value: string; change: (meter: string) => void }) {
  const t = useAdminReports();
  const states = useStates();
  return (
    <Select size="xs" aria-label={t('meter')} value={value} allowDeselect={false} onChange={(next) => change(next ?? '')}
      data={[{ value: '', label: t('allMeters') }, ...meters.map((meter) => ({ value: meter, label: states(meter) }))]} />
  );
}

// The usage of all meters, or that of one with the limits of the plans.
export function Usage({ meter }: { meter: string }) {
  const t = useAdminReports();
  const common = useCommon();
  const word = useWord();
  const states = useStates();
  const query = api.useQuery('get', '/v1/admin/operations/usage', { params: { query: { limit: '100' } } });
  const one = useMeterColumns(meters.find((known) => known === meter));
  if (!query.data) return <Waiting query={query} />;
  const rows = query.data.items.map((row) => ({ ...row, id: row.tenantId }));
  const barMeter = one ? meter as UsageMeter : 'EGRESS_BYTES';
  const most = rows.map((row) => ({ row, used: usageOf(row, barMeter)?.used ?? 0 })).filter(({ used }) => used > 0)
    .sort((a, b) => b.used - a.used).slice(0, barCount);
  return (
    <>
      <Text size="sm" c="dimmed">{t('usageText', { from: utcDate(query.data.from) })}</Text>
      {most.length > 0 && (
        <BarSection title={t('mostOf', { meter: states(barMeter) })} empty="" of={most.map(({ row, used }) => ({
          key: row.id, label: <Link className="link" to={`/tenants/${row.id}` as never}>{row.tenantName}</Link>,
          value: used, text: amountText(barMeter, used),
        }))} />
      )}
      <DataList<Row> name="usage" label={t('usage')} rows={rows} fetching={query.isFetching} link={({ id }) => `/tenants/${id}`}
        empty={<Empty text={t('noUsage')} />}
        columns={[
          { key: 'name', title: t('tenant'), value: ({ tenantName }) => tenantName },
          { key: 'plan', title: common('plan'), value: ({ plan }) => plan, render: ({ plan }) => word(plan), wide: true },
          { key: 'status', title: common('status'), value: ({ status }) => status, wide: true,
            render: ({ status }) => <Tag of={status} /> },
          ...(one ?? meters.map((key, index): Column<Row> => ({
            key, title: states(key), value: (row) => usageOf(row, key)?.used,
            render: (row) => <Used of={usageOf(row, key)} />, wide: index > 0,
          }))),
        ]} />
    </>
  );
}

// The used share of the included amount; null if nothing or any amount is included.
const reached = (usage: MeterUsage | undefined) => (usage?.included ? usage.used / usage.included : null);

function Used({ of }: { of: MeterUsage | undefined }) {
  const t = useAdminReports();
  if (!of) return '–';
  const over = of.included !== null && of.used > of.included;
  return (
    <>
      {amountText(of.meter, of.used)}
      {over && <Text size="xs" c="var(--mantine-color-error)">{t('ofIncluded', { n: amountText(of.meter, of.included ?? 0) })}</Text>}
    </>
  );
}

// Columns of one meter; undefined without a meter.
function useMeterColumns(meter: UsageMeter | undefined): Column<Row>[] | undefined {
  const t = useAdminReports();
  if (!meter) return undefined;
  const of = (row: Row) => usageOf(row, meter);
  return [
    { key: 'used', title: t('used'), value: (row) => of(row)?.used, render: (row) => amountText(meter, of(row)?.used ?? 0) },
    { key: 'included', title: t('included'), value: (row) => of(row)?.included, wide: true, render: (row) => {
      const included = of(row)?.included;
      return included == null ? t('noLimit') : amountText(meter, included);
    } },
    { key: 'reached', title: t('reached'), value: (row) => { const share = reached(of(row)); return share && Math.round(100 * share); },
      wide: true, render: (row) => {
        const share = reached(of(row));
        return share === null ? '–' : (
          <Group gap="xs" wrap="nowrap">
            <Progress w={80} value={Math.min(100, 100 * share)} aria-label={`${row.tenantName}: ${percent(share)}`} />
            {percent(share)}
          </Group>
        );
      } },
  ];
}
