import { Select } from '@mantine/core';

import { useAdmin } from '../messages/admin.js';

// The period of a screen: its last days.
export function DaysSelect({ days, choose }: { days: string; choose: (days: string) => void }) {
  const t = useAdmin();
  return (
    <Select size="xs" aria-label={t('period')} value={days} allowDeselect={false} onChange={(next) => choose(next ?? '')}
      data={['7', '30', '90', '365'].map((n) => ({ value: n, label: t('lastDays', { n }) }))} />
  );
}
