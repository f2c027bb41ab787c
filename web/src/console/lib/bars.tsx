import { Group, Progress, Text } from '@mantine/core';
import type { ReactNode } from 'react';

export interface Bar { key: string; label: ReactNode; note?: string; value: number; text: string }

// Values one below the other, with bars in proportion to full, or to the largest value.
export function Bars({ of, full }: { of: Bar[]; full?: number }) {
  const most = full || Math.max(1, ...of.map(({ value }) => value));
  return (
    <ol className="bars">
      {of.map(({ key, label, note, value, text }) => (
        <li key={key}>
          <Group justify="space-between" gap="xs" align="baseline" wrap="nowrap">
            <Text size="sm" className="wrap" component="div">{label}{note && <Text span size="xs" c="dimmed"> · {note}</Text>}</Text>
            <Text size="sm" fw={700} miw="max-content">{text}</Text>
          </Group>
          <Progress aria-hidden value={(100 * value) / most} size="md" mt={4} />
        </li>
      ))}
    </ol>
  );
}
