import { Button, Group, ScrollArea, Stack, Table, Title } from '@mantine/core';

import type { RestreamRoute } from '../../gen/api.js';
import { download, toCsv } from '../lib/csv.js';
import { time } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { Status } from '../lib/parts.js';
import { useCommon } from '../messages/common.js';
import { useRestream } from '../messages/restream.js';
import { explain, stateOf } from './restream-words.js';

interface Props { routes: RestreamRoute[]; list: Parameters<typeof MoreButton>[0]['list'] }

// Routes that are over. Sort order and page of the address belong to the list of recordings on the same page, so this table has none.
export function RouteHistory({ routes, list }: Props) {
  const t = useRestream();
  const common = useCommon();
  const problem = ({ errorMessage }: RestreamRoute) => (errorMessage ? explain(t, errorMessage) : '');
  const state = (route: RestreamRoute) => stateOf(t, route, false);
  const save = () => download('restream-routes.csv', toCsv([
    { title: t('target'), value: ({ target }) => target.name }, { title: common('status'), value: (route) => state(route).label },
    { title: t('begun'), value: ({ startedAt }) => startedAt }, { title: t('over'), value: ({ endedAt }) => endedAt },
    { title: t('problem'), value: problem },
  ], routes));
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={3} size="h6">{t('earlier')}</Title>
        <Button size="xs" variant="default" onClick={save}>{common('exportCsv')}</Button>
      </Group>
      <ScrollArea type="auto" viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': t('earlier') }}>
        <Table withTableBorder striped="even" fz="sm" miw={760}>
          <Table.Thead>
            <Table.Tr>
              {[t('target'), common('status'), t('begun'), t('over'), t('problem')].map((title) => (
                <Table.Th key={title}>{title}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {routes.map((route) => (
              <Table.Tr key={route.id}>
                <Table.Td className="prose">{route.target.name}</Table.Td>
                <Table.Td><Status {...state(route)} /></Table.Td>
                <Table.Td style={{ whiteSpace: 'nowrap' }}>{time(route.startedAt)}</Table.Td>
                <Table.Td style={{ whiteSpace: 'nowrap' }}>{time(route.endedAt)}</Table.Td>
                <Table.Td className="prose">{problem(route) || '–'}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea>
      <MoreButton list={list} />
    </Stack>
  );
}
