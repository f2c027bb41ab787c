import { Badge, Button, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';

import type { BillingInterval, BillingPlan, BillingStatus, PlanTier } from '../../gen/api.js';
import { api, asProblem, client, unwrap } from '../lib/api.js';
import { date, money, safeLink } from '../lib/format.js';
import { Section, useChange, useConfirm } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { usePlans } from '../messages/plans.js';
import { useIdentity, useMayCall } from './identity.js';

type Subscription = NonNullable<BillingStatus['subscription']>;

const runs = (subscription: Subscription | null) => subscription !== null && subscription.status !== 'CANCELED' && subscription.status !== 'INCOMPLETE';

// The ways to another plan: a checkout without a subscription, a change of an active one. A trial with payment details is changed, one
// without is replaced by a checkout; the API doesn't say which one it is, so the checkout is tried first. The same is true of a trial that
// has ended, which can't be changed.
type Way = 'checkout' | 'change' | 'both' | 'none';

function wayOf(subscription: Subscription | null): Way {
  if (!subscription || !runs(subscription)) return 'checkout';
  const { status, cancelAtPeriodEnd, collection, trialEndsAt } = subscription;
  if (cancelAtPeriodEnd || collection === 'INVOICE') return 'none';
  if (status === 'TRIALING') return 'both';
  if (status === 'PAUSED' && trialEndsAt && Date.parse(trialEndsAt) <= Date.now()) return 'checkout';
  return status === 'ACTIVE' ? 'change' : 'none';
}

const nameOf = (tier: PlanTier) => tier.charAt(0) + tier.slice(1).toLowerCase();

export function Plans({ status }: { status: BillingStatus }) {
  const t = usePlans();
  const mayCall = useMayCall();
  const plans = api.useQuery('get', '/v1/me/billing/plans');
  const changes = mayCall('updateSubscription');
  if (!plans.data) return <ProblemNote error={plans.error} onRetry={() => void plans.refetch()} />;
  return (
    <Section title={t('plans')} aside={<Text size="xs" c="dimmed">{t('net')}</Text>}>
      {plans.data.length === 0 && <Text size="sm" c="dimmed">{t('noPlans')}</Text>}
      {status.subscription && <SubscriptionNotes subscription={status.subscription} changes={changes} />}
      <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }}>
        {plans.data.map((plan) => <PlanCard key={plan.plan} plan={plan} status={status} changes={changes} />)}
      </SimpleGrid>
    </Section>
  );
}

function PlanCard({ plan, status, changes }: { plan: BillingPlan; status: BillingStatus; changes: boolean }) {
  const t = usePlans();
  const confirm = useConfirm();
  const { subscription } = status;
  const present = status.plan === plan.plan;
  const way = wayOf(subscription);
  const isPresent = (interval: BillingInterval) => present && subscription?.interval === interval;
  const book = useChange(async (interval: BillingInterval) => {
    const body = { plan: plan.plan, interval, successUrl: location.href, cancelUrl: location.href };
    const page = await unwrap(client.POST('/v1/me/billing/checkout', { body })).catch((error: unknown) => {
      if (way !== 'both' || isPresent(interval) || asProblem(error).code !== 'conflict') throw error;
      return null; // the trial has payment details
    });
    return { interval, url: page?.url };
  }, { after: ({ interval, url }) => {
    const to = safeLink(url);
    if (to) location.assign(to);
    else if (!url) confirmChange(interval);
  } });
  const change = useChange((interval: BillingInterval) => unwrap(client.PATCH('/v1/me/billing/subscription', { body: { plan: plan.plan, interval } })), { done: t('changed') });
  const price = (interval: BillingInterval) => (interval === 'MONTH'
    ? t('monthly', { price: money(plan.priceCents, plan.currency) }) : t('yearly', { price: money(plan.yearlyPriceCents, plan.currency) }));
  function confirmChange(interval: BillingInterval) {
    const text = subscription?.status === 'TRIALING' ? 'trialChangeText' : 'changeText';
    confirm(t('change'), t(text, { plan: plan.name, price: price(interval) }), () => change.mutate(interval));
  }
  const choose = (interval: BillingInterval) => (way === 'change' ? confirmChange(interval) : book.mutate(interval));
  const button = (interval: BillingInterval) => changes && way !== 'none' && !(way === 'change' && isPresent(interval)) && (
    <Button size="xs" variant={interval === 'MONTH' ? 'filled' : 'default'} loading={book.isPending || change.isPending} onClick={() => choose(interval)}
      aria-label={`${plan.name}: ${t(interval === 'MONTH' ? 'bookMonth' : 'bookYear')}`}>{t(interval === 'MONTH' ? 'bookMonth' : 'bookYear')}</Button>
  );
  return (
    <Card withBorder padding="sm">
      <Stack gap="xs" h="100%" justify="space-between">
        <div>
          <Group gap="xs"><Title order={3} size="h5">{plan.name}</Title>{present && <Badge variant="outline" tt="none" miw="max-content">{t('present')}</Badge>}</Group>
          {plan.description && <Text size="sm">{plan.description}</Text>}
          <Text size="sm" fw={600} mt="xs">{price('MONTH')}</Text>
          {plan.yearlyPriceCents !== null && <Text size="sm">{price('YEAR')}</Text>}
          {plan.trialDays > 0 && !subscription && <Text size="xs" c="dimmed">{t('trial', { days: plan.trialDays })}</Text>}
        </div>
        <Group gap="xs">{button('MONTH')}{plan.yearlyPriceCents !== null && button('YEAR')}</Group>
      </Stack>
    </Card>
  );
}

function SubscriptionNotes({ subscription, changes }: { subscription: Subscription; changes: boolean }) {
  const t = usePlans();
  const confirm = useConfirm();
  const { role } = useIdentity();
  const { cancelAtPeriodEnd, currentPeriodEnd, pendingChange, paymentUrl, status } = subscription;
  const endsAtOnce = status === 'UNPAID' || status === 'PAUSED';
  const at = date(currentPeriodEnd);
  const end = useChange((cancels: boolean) => unwrap(client.PATCH('/v1/me/billing/subscription', { body: { cancelAtPeriodEnd: cancels } })), {
    done: t(cancelAtPeriodEnd ? 'resumed' : 'canceledDone'),
  });
  const pay = safeLink(paymentUrl);
  if (!runs(subscription)) return null;
  return (
    <Group gap="xs" mb="sm">
      {pendingChange && <Text size="sm">{t('pending', { at: date(pendingChange.at), plan: nameOf(pendingChange.plan) })}</Text>}
      {cancelAtPeriodEnd && <Text size="sm">{t('cancelled', { at })}</Text>}
      {pay && <a className="link" href={pay} target="_blank" rel="noreferrer">{t('pay')}</a>}
      {changes && cancelAtPeriodEnd && <Button size="xs" variant="default" loading={end.isPending} onClick={() => end.mutate(false)}>{t('resume')}</Button>}
      {changes && !cancelAtPeriodEnd && role === 'OWNER' && (
        <Button size="xs" variant="default" loading={end.isPending}
          onClick={() => confirm(t('cancel'), endsAtOnce ? t('cancelNowText') : t('cancelText', { at }), () => end.mutate(true))}>
          {t('cancel')}
        </Button>
      )}
    </Group>
  );
}
