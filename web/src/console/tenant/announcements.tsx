import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import type { AnnouncementSeverity, TenantAnnouncement } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { time } from '../lib/format.js';
import { Markdown } from '../lib/markdown.js';
import { Section, useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useSupport } from '../messages/support.js';
import { useIdentity, useMay, useMayCall } from './identity.js';

const colours: Record<AnnouncementSeverity, string> = { INFO: 'brand', WARNING: 'orange', CRITICAL: 'red' };
const order: AnnouncementSeverity[] = ['CRITICAL', 'WARNING', 'INFO'];

function useAnnouncements() {
  const may = useMay();
  const { user } = useIdentity();
  return api.useQuery('get', '/v1/me/announcements', {}, { enabled: user !== null && may('support:read'), refetchInterval: 300_000 });
}

// The most severe announcement, for the overview.
export function AnnouncementBanner() {
  const t = useSupport();
  const { data = [] } = useAnnouncements();
  const first = data.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))[0];
  if (!first) return null;
  return (
    <Announcement announcement={first}>
      {data.length > 1 && <Link className="link" to="/support">{t('all')} ({data.length})</Link>}
    </Announcement>
  );
}

export function AnnouncementList() {
  const t = useSupport();
  const list = useAnnouncements();
  if (!list.data) return <ProblemNote error={list.error} onRetry={() => void list.refetch()} />;
  return (
    <Section title={t('announcements')}>
      {list.data.length === 0 && <Text size="sm" c="dimmed">{t('noAnnouncements')}</Text>}
      <Stack gap="sm">{list.data.map((announcement) => <Announcement key={announcement.id} announcement={announcement} />)}</Stack>
    </Section>
  );
}

function Announcement({ announcement, children }: { announcement: TenantAnnouncement; children?: React.ReactNode }) {
  const t = useSupport();
  const { id, title, body, severity, publishedAt } = announcement;
  const mayCall = useMayCall();
  const dismiss = useChange(() => unwrap(client.POST('/v1/me/announcements/{id}/dismiss', { params: { path: { id } } })));
  return (
    <Alert variant="outline" color={colours[severity]} title={`${t(severity)}: ${title}`} role="note">
      <Markdown text={body} />
      <Group gap="xs" mt="xs">
        <Text size="xs" c="dimmed">{t('published', { at: time(publishedAt) })}</Text>
        {children}
        {mayCall('dismissAnnouncement') && (
          <Button size="compact-xs" variant="default" loading={dismiss.isPending} onClick={() => dismiss.mutate(undefined)}>{t('dismiss')}</Button>
        )}
      </Group>
    </Alert>
  );
}
