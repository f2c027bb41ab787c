import { Table } from '@mantine/core';

import { useChanges } from '../messages/changes.js';
import type { Change } from './diff.js';

// A value as people read it: texts without quotation marks, lists with commas.
function plain(json: string | null): string {
  const value: unknown = json === null ? null : JSON.parse(json);
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(', ') || '–';
  return value === null || value === '' ? '–' : typeof value === 'string' ? value : String(json);
}

// The fields that changed, with their values before and after. after is another title for the latter.
export function Changes({ of, after }: { of: Change[]; after?: string }) {
  const t = useChanges();
  return (
    <Table className="diff wrap" layout="fixed" my="xs">
      <Table.Thead>
        <Table.Tr><Table.Th>{t('field')}</Table.Th><Table.Th>{t('before')}</Table.Th><Table.Th>{after ?? t('after')}</Table.Th></Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {of.map((change) => (
          <Table.Tr key={change.field}>
            <Table.Td>{change.field}</Table.Td>
            <Table.Td><del>{plain(change.before)}</del></Table.Td>
            <Table.Td><ins>{plain(change.after)}</ins></Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
