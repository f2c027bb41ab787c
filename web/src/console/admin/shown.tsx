import { Card, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { CurrencyAmount } from '../../gen/api.js';
import { money } from '../lib/format.js';
import { Section, Status } from '../lib/parts.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';

// A state of the API's, in words.
export function Tag({ of }: { of: string }) {
  const word = useWord();
  return <Status of={of} label={word(of)} />;
}

export const useOptions = (values: readonly string[]) => {
  const word = useWord();
  return values.map((value) => ({ value, label: word(value) }));
};

// Amounts of several currencies, which are never added.
export const amounts = (of: CurrencyAmount[]) => (
  of.length === 0 ? '–' : of.map(({ amountCents, currency }) => money(amountCents, currency.toUpperCase())).join(' + ')
);

// A figure that leads to its page. Without a value it has the same size.
export function LinkedFigure({ label, value, to, note }: { label: string; value?: ReactNode; to: string; note?: string }) {
  return (
    <Card withBorder padding="sm" renderRoot={(props) => <Link {...props} to={to} />} className="figure">
      <Text size="xs" c="dimmed">{label}</Text>
      <Text fw={700} size="xl">{value ?? '…'}</Text>
      {note && <Text size="xs" c="dimmed">{note}</Text>}
    </Card>
  );
}

export interface Row { key: string; cells: ReactNode[] }

// A table of a few rows, without pages and filters.
export function Rows({ title, head, rows, aside, empty }: { title: string; head: string[]; rows: Row[]; aside?: ReactNode;
  empty?: string }) {
  const common = useCommon();
  return (
    <Section title={title} aside={aside}>
      {rows.length === 0 ? <Text size="sm" c="dimmed">{empty ?? common('empty')}</Text> : (
        <Table.ScrollContainer minWidth={320} scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'group', 'aria-label': title } }}>
          <Table>
            <Table.Thead><Table.Tr>{head.map((name, index) => <Table.Th key={index}>{name}</Table.Th>)}</Table.Tr></Table.Thead>
            <Table.Tbody>
              {rows.map(({ key, cells }) => <Table.Tr key={key}>{cells.map((cell, index) => <Table.Td
                key={index}>{cell}</Table.Td>)}</Table.Tr>)}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Section>
  );
}

// Names and values, one a line.
export function Facts({ of }: { of: [string, ReactNode][] }) {
  return (
    <Table variant="vertical" layout="auto">
      <Table.Tbody>
        {of.map(([name, value]) => (
          <Table.Tr key={name}><Table.Th w={140} fw={500} bg="transparent" scope="row">{name}</Table.Th><Table.Td
            className="wrap">{value ?? '–'}</Table.Td></Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
