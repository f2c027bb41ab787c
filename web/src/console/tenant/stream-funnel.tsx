import { Button, Group, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import type { StreamFunnel } from '../../gen/api.js';
import { api } from '../lib/api.js';
import { Bars, type Bar } from '../lib/bars.js';
import { download, toCsv } from '../lib/csv.js';
import { money, number, percent } from '../lib/format.js';
import { Empty, Figure, Section } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useFunnel } from '../messages/funnel.js';

const refreshMs = 15_000;

// The steps from viewers to paid orders of a stream.
export function FunnelSection({ id }: { id: string }) {
  const t = useFunnel();
  const query = api.useQuery('get', '/v1/me/streams/{id}/funnel', { params: { path: { id } } }, { refetchInterval: refreshMs });
  const funnel = query.data;
  const empty = funnel && funnel.clicks + funnel.carts + funnel.checkouts + funnel.orders === 0;
  return (
    <Section title={t('title')}>
      <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
      {empty && (
        <Stack align="center" py="md" role="status">
          <Empty text={t('empty')}><Link className="link" to="/shopping" search={{ stream: id } as never}>{t('toShop')}</Link></Empty>
        </Stack>
      )}
      {funnel && !empty && <Steps funnel={funnel} />}
    </Section>
  );
}

function stepsOf({ peakViewers, clicks, carts, checkouts, orders }: StreamFunnel, t: ReturnType<typeof useFunnel>): Bar[] {
  const share = (part: number, whole: number, text: 'cartsRate' | 'checkoutsRate' | 'ordersRate') => (
    whole > 0 ? t(text, { p: percent(part / whole) }) : undefined
  );
  const bar = (key: 'viewers' | 'clicks' | 'carts' | 'checkouts' | 'orders', value: number, note?: string): Bar => (
    { key, label: t(key), value, text: number(value), note }
  );
  return [
    bar('viewers', peakViewers),
    bar('clicks', clicks, peakViewers > 0 ? t('clicksRate', { n: number(Math.round((10 * clicks) / peakViewers) / 10) }) : undefined),
    bar('carts', carts, share(carts, clicks, 'cartsRate')),
    bar('checkouts', checkouts, share(checkouts, carts, 'checkoutsRate')),
    bar('orders', orders, share(orders, checkouts, 'ordersRate')),
  ];
}

function Steps({ funnel }: { funnel: StreamFunnel }) {
  const t = useFunnel();
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs">
        <Figure label={t('revenue')} value={funnel.revenue.map(({ cents, currency }) => money(cents, currency)).join(' + ') || t('none')} />
        <Figure label={t('watched')} value={number(funnel.watchedMinutes)} />
      </SimpleGrid>
      <Bars of={stepsOf(funnel, t)} />
      <Text size="xs" c="dimmed">{t('note')}</Text>
      {funnel.products.length > 0 && <Products funnel={funnel} />}
    </Stack>
  );
}

const rateOf = (orders: number, clicks: number) => (clicks > 0 ? percent(orders / clicks) : '–');

function Products({ funnel: { products } }: { funnel: StreamFunnel }) {
  const t = useFunnel();
  const common = useCommon();
  const exportRows = () => download('funnel.csv', toCsv([
    { title: t('product'), value: ({ name }) => name }, { title: t('opened'), value: ({ clicks }) => clicks },
    { title: t('orders'), value: ({ orders }) => orders }, { title: t('units'), value: ({ units }) => units },
  ], products));
  return (
    <div>
      <Group justify="space-between" mb="xs">
        <Title order={3} size="h6">{t('products')}</Title>
        <Button size="xs" variant="default" onClick={exportRows}>{common('exportCsv')}</Button>
      </Group>
      <Table.ScrollContainer minWidth={460} maxHeight={400}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, 'aria-label': t('products'), role: 'group' } }}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('product')}</Table.Th><Table.Th>{t('opened')}</Table.Th><Table.Th>{t('orders')}</Table.Th>
              <Table.Th>{t('units')}</Table.Th><Table.Th>{t('bought')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {products.map(({ productId, name, clicks, orders, units }) => (
              <Table.Tr key={productId}>
                <Table.Td className="wrap">{name}</Table.Td><Table.Td>{number(clicks)}</Table.Td><Table.Td>{number(orders)}</Table.Td>
                <Table.Td>{number(units)}</Table.Td><Table.Td>{rateOf(orders, clicks)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </div>
  );
}
