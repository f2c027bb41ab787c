import { Badge, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { TenantAuditEntry } from '../../gen/api.js';
import { api, client } from '../lib/api.js';
import { Changes } from '../lib/changes.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { differences } from '../lib/diff.js';
import { time } from '../lib/format.js';
import { Empty, Heading } from '../lib/parts.js';
import { useListState } from '../lib/table.js';
import { useCommon } from '../messages/common.js';
import { useTeamAudit } from '../messages/team-audit.js';
import { useMay } from './identity.js';

const day = /^\d{4}-\d{2}-\d{2}$/;

// The beginning of a day of the user's time zone, or of the day after it.
function startOfDay(date: string | undefined, later = 0): string | undefined {
  if (!date || !day.test(date)) return undefined;
  const [year, month, dayOfMonth] = date.split('-').map(Number) as [number, number, number];
  return new Date(year, month - 1, dayOfMonth + later).toISOString();
}

export default function Audit() {
  const t = useTeamAudit();
  const common = useCommon();
  const [state, change] = useListState();
  const [shown, setShown] = useState<TenantAuditEntry | null>(null);
  const names = useTeamNames();
  const { actor, action, entity } = state;
  const [from, to] = [startOfDay(state.from), startOfDay(state.to, 1)];
  const filter = { ...(actor && { actor }), ...(action && { action }), ...(entity && { entity }), ...(from && { from }), ...(to && { to }) };
  const list = useCursorList<TenantAuditEntry>(['tenant-audit', filter], (query, signal) => client.GET('/v1/me/audit', { params: { query: { ...query, ...filter } }, signal }));
  const actorName = ({ actorType, actorId }: TenantAuditEntry) => names.get(actorId ?? '') ?? t(actorType);
  return (
    <>
      <Heading title={t('title')} />
      <Group gap="xs" mb="xs">
        {(['from', 'to'] as const).map((key) => (
          <TextInput key={key} type="date" size="xs" label={t(key)} value={state[key] ?? ''} onChange={(event) => change({ [key]: event.currentTarget.value, page: '' })} />
        ))}
      </Group>
      <CursorList<TenantAuditEntry> name="audit" label={t('title')} list={list}
        filters={[{ key: 'action', label: t('action') }, { key: 'entity', label: t('entity') }, { key: 'actor', label: t('actorHint') }]}
        empty={<Empty text={t('noEntries')} />}
        columns={[
          { key: 'action', title: t('action'), value: ({ action: name }) => name },
          { key: 'actor', title: t('actor'), value: actorName, render: (row) => (
            <Group gap="xs"><Text size="sm">{actorName(row)}</Text>{row.impersonated && <Badge size="sm" variant="outline" miw="max-content" tt="none">{t('admin')}</Badge>}</Group>
          ), wide: true },
          { key: 'object', title: t('object'), value: ({ entityId }) => entityId, wide: true },
          { key: 'at', title: t('at'), value: ({ at }) => at, render: ({ at }) => time(at) },
        ]}
        actions={(row) => <Button size="compact-xs" variant="default" onClick={() => setShown(row)}>{t('details')}</Button>} />
      <Modal opened={shown !== null} onClose={() => setShown(null)} title={shown?.action} size="lg" closeButtonProps={{ 'aria-label': common('close') }}>
        {shown && <Entry entry={shown} actor={actorName(shown)} />}
      </Modal>
    </>
  );
}

// Names of the team's members by their ids, if the role may read the team.
function useTeamNames(): Map<string, string> {
  const may = useMay();
  const team = api.useQuery('get', '/v1/me/team', { params: { query: { limit: 200 } } }, { enabled: may('team:read') });
  return new Map((team.data ?? []).map(({ id, name }) => [id, name]));
}

function Entry({ entry, actor }: { entry: TenantAuditEntry; actor: string }) {
  const t = useTeamAudit();
  const common = useCommon();
  const changes = differences(entry.before, entry.after);
  const facts = [
    [t('at'), time(entry.at)], [t('actor'), entry.actorId ? `${actor} (${entry.actorId})` : actor], [t('object'), `${entry.entity} ${entry.entityId}`],
    [common('reason'), entry.reason], [t('ip'), entry.ip], [t('request'), entry.requestId],
  ] as const;
  return (
    <Stack gap="xs" className="wrap">
      {facts.map(([label, value]) => value && <Text key={label} size="sm"><b>{label}:</b> {value}</Text>)}
      {entry.impersonated && <Text size="sm">{t('impersonated')}</Text>}
      {changes.length === 0 ? <Text size="sm" c="dimmed">{t('noValues')}</Text> : <Changes of={changes} />}
    </Stack>
  );
}
