import { Text } from '@mantine/core';

import { Bars, type Bar } from '../lib/bars.js';
import { Section } from '../lib/parts.js';

// Bars under a title, or a note if all values are 0.
export function BarSection({ title, of, full, empty }: { title: string; of: Bar[]; full?: number; empty: string }) {
  return (
    <Section title={title}>
      {of.every(({ value }) => value === 0) ? <Text size="sm" c="dimmed">{empty}</Text> : <Bars of={of} {...(full && { full })} />}
    </Section>
  );
}
