import { List, SimpleGrid, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';

import { api } from '../lib/api.js';
import { Chart } from '../lib/chart.js';
import { number } from '../lib/format.js';
import { Figure, Heading, Section } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useConsole } from '../messages/console.js';
import { AnnouncementBanner } from './announcements.js';
import { useIdentity, useMay, useMayCall } from './identity.js';

export default function Overview() {
  const t = useConsole();
  const { user, tenant } = useIdentity();
  const may = useMay();
  const overview = api.useQuery('get', '/v1/me/overview', {}, { refetchInterval: 5000 });
  const keys = api.useQuery('get', '/v1/me/api-keys', { params: { query: { limit: 1 } } }, { enabled: may('keys:read') });
  const week = useWeek();
  const figures = overview.data;
  // A part that is drawn later than those below it would move them.
  const settled = !overview.isPending && !keys.isLoading;
  return (
    <Stack>
      <Heading title={t('welcome', { name: user?.name ?? tenant.name })} />
      <AnnouncementBanner />
      <ProblemNote error={overview.error} onRetry={() => void overview.refetch()} />
      {(figures || overview.isPending) && (
        <SimpleGrid cols={{ base: 2, sm: 3 }}>
          <Figure label={t('liveStreams')} value={figures && `${number(figures.liveStreams)} / ${number(figures.streams)}`} />
          <Figure label={t('viewersNow')} value={figures && number(figures.viewersNow)} />
          <Figure label={t('liveSessions')} value={figures && number(figures.liveSessions)} />
          <Figure label={t('ordersToday')} value={figures && number(figures.ordersToday)} />
          <Figure label={t('failing')} value={figures && number(figures.webhooksFailing)} />
          <Figure label={t('teamSize')} value={figures && number(figures.teamSize)} />
        </SimpleGrid>
      )}
      {settled && figures && (
        <Guide streams={figures.streams} hooks={figures.webhookEndpoints} team={figures.teamSize} keys={keys.data?.length} />
      )}
      {settled && <Week of={week} />}
    </Stack>
  );
}

// The steps that a new tenant hasn't taken yet. keys is 0 or more, or undefined if the user may not see them.
function Guide({ streams, hooks, team, keys }: { streams: number; hooks: number; team: number; keys: number | undefined }) {
  const t = useConsole();
  const mayCall = useMayCall();
  const steps = [
    { path: '/streams', text: t('guideStream'), open: streams === 0 && mayCall('createStream') },
    { path: '/keys', text: t('guideKey'), open: keys === 0 && mayCall('createApiKey') },
    { path: '/webhooks', text: t('guideHook'), open: hooks === 0 && mayCall('createWebhook') },
    { path: '/team', text: t('guideTeam'), open: team <= 1 && mayCall('inviteTeamMember') },
  ].filter(({ open }) => open);
  if (steps.length === 0) return null;
  return (
    <Section title={t('guide')}>
      <List type="ordered" spacing="xs">
        {steps.map(({ path, text }) => <List.Item key={path}><Link className="link" to={path}>{text}</Link></List.Item>)}
      </List>
    </Section>
  );
}

// The analytics of the last seven days, in UTC.
function useWeek() {
  const from = useMemo(() => new Date(Math.floor(Date.now() / 86400000 - 6) * 86400000).toISOString(), []);
  return api.useQuery('get', '/v1/me/analytics', { params: { query: { from } } }, { refetchInterval: 60000 });
}

function Week({ of: analytics }: { of: ReturnType<typeof useWeek> }) {
  const t = useConsole();
  const points = analytics.data?.points;
  const times = useMemo(() => (points ?? []).map(({ startsAt }) => Date.parse(startsAt) / 1000), [points]);
  const lines = useMemo(() => [{ label: t('viewers'), values: (points ?? []).map(({ viewers }) => viewers), colour: 'brand' as const }], [points, t]);
  if (!points?.length) return <ProblemNote error={analytics.error} />;
  return <Section title={t('last7')}><Chart title={t('last7')} times={times} lines={lines} /></Section>;
}
