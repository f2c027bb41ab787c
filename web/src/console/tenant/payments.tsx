import { Alert, Badge, Button, Code, Group, List, Skeleton, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';

import type { ConnectStatus } from '../../gen/api.js';
import { client, unwrap, type Problem } from '../lib/api.js';
import { safeLink } from '../lib/format.js';
import { Heading, Section, useChange } from '../lib/parts.js';
import { CopyText, ProblemNote } from '../lib/problem.js';
import { useListState } from '../lib/table.js';
import { usePayments } from '../messages/payments.js';
import { useIdentity, useMayCall } from './identity.js';
import { useSeller, type SellerState } from './seller.js';

// The server's answer is up to 10 seconds old while charges aren't enabled.
const everyMs = 5000;

const colours: Record<SellerState, string> = {
  notBegun: 'gray', incomplete: 'orange', checking: 'blue', restricted: 'red', ready: 'green',
};
const stateTexts = {
  notBegun: 'notBegunText', incomplete: 'incompleteText', checking: 'checkingText', restricted: 'restrictedText', ready: 'readyText',
} as const;
const actions = { notBegun: 'begin', incomplete: 'proceed', checking: 'lookAgain', restricted: 'lookAgain', ready: 'change' } as const;

export default function Payments() {
  const t = usePayments();
  const [{ back }] = useListState();
  const { tenant } = useIdentity();
  const queries = useQueryClient();
  const { query, status, state } = useSeller(everyMs);
  const changed = status && status.chargesEnabled !== tenant.chargesEnabled;
  useEffect(() => { if (changed) void queries.invalidateQueries({ queryKey: ['identity'] }); }, [changed, queries]);
  return (
    <Stack maw={680}>
      <Heading title={t('payments')} />
      {back === 'returned' && <Alert variant="outline" role="status">{t('back')}</Alert>}
      {back === 'expired' && state !== 'ready' && <Alert variant="outline" color="orange" role="status">{t('expired')}</Alert>}
      <Text size="sm">{t('intro')}</Text>
      <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
      {status && state ? <Account status={status} state={state} /> : !query.error && <Skeleton height={220} />}
    </Stack>
  );
}

function Account({ status, state }: { status: ConnectStatus; state: SellerState }) {
  const t = usePayments();
  const steps: [string, boolean][] = [
    [t('stepAccount'), status.processorAccountId !== null], [t('stepDetails'), status.onboarded], [t('stepCharges'), status.chargesEnabled],
  ];
  return (
    <Section title={t('state')} aside={<Badge variant="dot" color={colours[state]} miw="max-content" tt="none">{t(state)}</Badge>}>
      <Stack gap="sm" align="start">
        <Text size="sm">{t(stateTexts[state])}</Text>
        <List size="sm" type="ordered" spacing={4}>
          {steps.map(([label, done]) => (
            <List.Item key={label}>
              {label}: <Text span size="sm" {...(done ? { fw: 600 } : { c: 'dimmed' })}>{t(done ? 'stepDone' : 'stepOpen')}</Text>
            </List.Item>
          ))}
        </List>
        <Onboarding state={state} />
        {status.processorAccountId && (
          <div>
            <Text size="sm" c="dimmed">{t('account')}</Text>
            <Group gap="xs"><Code>{status.processorAccountId}</Code><CopyText text={status.processorAccountId} /></Group>
          </div>
        )}
        {state === 'ready' && <Link className="link" to="/catalog">{t('nextCatalog')}</Link>}
      </Stack>
    </Section>
  );
}

// The problem of an answer without a link.
const unusable: Problem = { type: 'about:blank', title: '', status: 0, code: 'bad_link', message: '', requestId: '' };

const pageURL = (back: 'returned' | 'expired') => `${location.origin}/console/payments?back=${back}`;

// Opens the processor's page in this tab. A link can be used once, so each press makes a new one.
function Onboarding({ state }: { state: SellerState }) {
  const t = usePayments();
  const mayCall = useMayCall();
  const open = useChange(async () => {
    const { onboardingUrl } = await unwrap(client.POST('/v1/me/commerce/connect/onboarding-link', {
      body: { returnUrl: pageURL('returned'), refreshUrl: pageURL('expired') },
    }));
    const link = safeLink(onboardingUrl);
    if (!link) throw { ...unusable, message: t('badLink') };
    location.assign(link);
  }, { shows: true });
  if (!mayCall('createOnboardingLink')) return state === 'ready' ? null : <Text size="sm" c="dimmed">{t('leadersOnly')}</Text>;
  return (
    <>
      <Button variant={state === 'ready' ? 'default' : 'filled'} loading={open.isPending} data-testid="onboard"
        onClick={() => open.mutate(undefined)}>
        {t(actions[state])}
      </Button>
      <Text size="xs" c="dimmed">{t('opens')}</Text>
      <ProblemNote error={open.error} />
    </>
  );
}
