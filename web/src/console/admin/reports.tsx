import { Select, Stack } from '@mantine/core';

import { Heading } from '../lib/parts.js';
import { useListState } from '../lib/table.js';
import { useAdminFigures } from '../messages/admin-figures.js';
import { useAdminReports } from '../messages/admin-reports.js';
import { DaysSelect } from './days-select.js';
import { Billing } from './report-billing.js';
import { Growth, Streams } from './report-days.js';
import { PlanMix } from './report-plans.js';
import { ActivityByTenant, Top } from './report-tenants.js';
import { MeterSelect, Usage } from './report-usage.js';

const none = { page: '', sort: '', order: '', hide: '', meter: '' };

// One report at a time; which one, its period and its meter are in the address.
export default function Reports() {
  const t = useAdminFigures();
  const more = useAdminReports();
  const [state, change] = useListState();
  const days = state.days ?? '30';
  const reports = [
    { value: 'growth', label: t('tenantGrowth'), content: <Growth days={days} />, period: true },
    { value: 'streams', label: t('streamActivity'), content: <Streams days={days} />, period: true },
    { value: 'top', label: t('topTenants'), content: <Top /> },
    { value: 'activity', label: more('byTenant'), content: <ActivityByTenant /> },
    { value: 'usage', label: more('usage'), content: <Usage meter={state.meter ?? ''} />,
      aside: <MeterSelect value={state.meter ?? ''} change={(meter) => change({ ...none, meter })} /> },
    { value: 'plans', label: more('planMix'), content: <PlanMix /> },
    { value: 'billing', label: more('billing'), content: <Billing /> },
  ];
  const shown = reports.find(({ value }) => value === state.report) ?? reports[0]!;
  return (
    <Stack>
      <Heading title={t('reports')}>
        <Select size="xs" aria-label={t('report')} value={shown.value} allowDeselect={false}
          data={reports.map(({ value, label }) => ({ value, label }))} onChange={(next) => change({ ...none, report: next ?? '' })} />
        {shown.period && <DaysSelect days={days} choose={(next) => change({ ...none, days: next })} />}
        {shown.aside}
      </Heading>
      {shown.content}
    </Stack>
  );
}
