import { Button, Group, Progress, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import { api, client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { amountText, date, money, safeLink, unitsOf } from '../lib/format.js';
import { Empty, Figure, Heading, Section, Status, useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { useStates } from '../messages/states.js';
import { useUsage } from '../messages/usage.js';
import { useMayCall } from './identity.js';
import { Plans } from './plans.js';
import { SpendCapButtons } from './spend-cap.js';

export default function Billing() {
  const t = useConsole();
  const states = useStates();
  const common = useCommon();
  const mayCall = useMayCall();
  const status = api.useQuery('get', '/v1/me/billing/status');
  const cap = api.useQuery('get', '/v1/me/billing/spend-cap');
  const portal = useChange(() => unwrap(client.POST('/v1/me/billing/portal', { body: { returnUrl: location.href } })), {
    after: ({ url }) => { const to = safeLink(url); if (to) location.assign(to); },
  });
  const subscription = status.data?.subscription;
  const state = subscription?.status ?? status.data?.tenantStatus;
  return (
    <Stack>
      <Heading title={t('billing')}>
        {mayCall('setSpendCap') && cap.data && <SpendCapButtons cap={cap.data} />}
        {mayCall('createBillingPortal') && subscription
          && <Button size="xs" loading={portal.isPending} onClick={() => portal.mutate(undefined)}>{t('managePayment')}</Button>}
      </Heading>
      <ProblemNote error={status.error} onRetry={() => void status.refetch()} />
      {status.data && state && (
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <Figure label={t('currentPlan')} value={states(status.data.plan)} />
          <Figure label={common('status')} value={<Status of={state} label={states(state)} />} />
          <Figure label={t('spendCap')} value={cap.data?.capCents == null ? t('noCap') : money(cap.data.capCents, cap.data.currency)} />
        </SimpleGrid>
      )}
      {subscription && <Text size="sm">{t('subscriptionUntil', { date: date(subscription.currentPeriodEnd) })}</Text>}
      {status.data && <Plans status={status.data} />}
      <Usage />
      <Invoices />
    </Stack>
  );
}

function Usage() {
  const t = useConsole();
  const history = useUsage();
  const states = useStates();
  const usage = api.useQuery('get', '/v1/me/billing/usage', {}, { refetchInterval: 60_000 });
  if (!usage.data) return <ProblemNote error={usage.error} />;
  return (
    <Section title={t('usage')} aside={(
      <Group gap="md">
        <Text size="sm" c="dimmed">{date(usage.data.periodStart)} – {date(usage.data.periodEnd)}</Text>
        <Link className="link" to="/billing/usage">{history('title')}</Link>
      </Group>
    )}>
      <Table.ScrollContainer minWidth={300} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
        <Table>
          <Table.Thead><Table.Tr><Table.Th>{t('meter')}</Table.Th><Table.Th>{t('used')}</Table.Th><Table.Th>{t('included')}</Table.Th></Table.Tr></Table.Thead>
          <Table.Tbody>
            {usage.data.meters.map(({ meter, used, included }) => (
              <Table.Tr key={meter}>
                <Table.Td>{states(meter)}</Table.Td>
                <Table.Td>
                  <Group gap="xs">{amountText(meter, used)}
                    {!!included && <Progress aria-label={states(meter)} w={80} value={Math.min(100, (100 * used) / included)} />}
                  </Group>
                </Table.Td>
                <Table.Td>{amountText(meter, included)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  );
}

function Invoices() {
  const t = useConsole();
  const common = useCommon();
  const states = useStates();
  const list = useCursorList(['invoices'], (query, signal) => client.GET('/v1/me/billing/invoices', { params: { query }, signal }));
  return (
    <Section title={t('invoices')}>
      <CursorList name="invoices" label={t('invoices')} list={list}
        empty={<Empty text={t('noInvoices')} />}
        columns={[
          { key: 'number', title: t('invoices'), value: ({ number: label, id }) => label ?? id, render: ({ number: label, id, hostedInvoiceUrl }) => {
            const href = safeLink(hostedInvoiceUrl);
            return href ? <a className="link" href={href} target="_blank" rel="noreferrer">{label ?? id}</a> : label ?? id;
          } },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Status of={status} label={states(status)} /> },
          { key: 'total', title: t('total'), value: ({ totalCents, currency }) => unitsOf(totalCents, currency),
            render: ({ totalCents, currency }) => money(totalCents, currency) },
          { key: 'due', title: t('due'), value: ({ dueAt }) => dueAt, render: ({ dueAt }) => date(dueAt), wide: true },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => date(createdAt), wide: true },
        ]} />
    </Section>
  );
}
