import { Button, Checkbox, Group, Paper, ScrollArea, Skeleton, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';

import type { RestreamRoute, RestreamTarget, Stream } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { number, time } from '../lib/format.js';
import { Empty, FormModal, Section, Status, useChange, useConfirm } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useRestream } from '../messages/restream.js';
import { useMay, useMayCall } from './identity.js';
import { platformName } from './restream-platforms.js';
import { explain, isOpen, stateOf } from './restream-words.js';
import { RouteHistory } from './stream-route-history.js';

// Limit of the targets of a stream, and of one request.
const most = 8;
const everyMs = 4000;
const restingMs = 20_000;

// The newest route of each target, in the order of the list.
function newestRoutes(routes: RestreamRoute[]): RestreamRoute[] {
  const seen = new Set<string>();
  return routes.filter(({ targetId }) => !seen.has(targetId) && seen.add(targetId));
}

export function StreamRoutes({ stream }: { stream: Stream }) {
  const t = useRestream();
  const may = useMay();
  const mayAttach = useMayCall()('attachRestreamTargets');
  const confirm = useConfirm();
  const [attaching, setAttaching] = useState(false);
  const [history, setHistory] = useState(false);
  const onAir = stream.status === 'LIVE' || stream.status === 'RECONNECTING';
  const path = { streamId: stream.id };
  const list = useCursorList<RestreamRoute>(['restream-routes', stream.id], (query, signal) => (
    client.GET('/v1/me/restream/streams/{streamId}', { params: { path, query }, signal })
  ), onAir ? everyMs : restingMs);
  const targets = useTargets();
  const presets = api.useQuery('get', '/v1/me/restream/presets', {}, { staleTime: Infinity });
  const attach = useAttach(stream.id, t('attached'));
  const detach = useChange((targetId: string) => (
    unwrap(client.DELETE('/v1/me/restream/streams/{streamId}/{targetId}', { params: { path: { ...path, targetId } } }))
  ), { done: t('detached') });
  const routes = list.rows && newestRoutes(list.rows);
  const none = targets.rows?.length === 0;
  const actionsOf = (route: RestreamRoute) => {
    const { name } = route.target;
    if (isOpen(route)) {
      return may('restream:write') && (
        <Button size="compact-xs" variant="default" aria-label={t('detachName', { name })}
          onClick={() => confirm(t('detachTitle'), t('detachText', { name }), () => detach.mutate(route.targetId))}>{t('detach')}</Button>
      );
    }
    return mayAttach && targets.rows?.some(({ id }) => id === route.targetId) && (
      <Button size="compact-xs" variant="default" aria-label={t('againName', { name })}
        loading={attach.isPending && attach.variables?.includes(route.targetId)}
        onClick={() => attach.mutate([route.targetId])}>{t('again')}</Button>
    );
  };
  return (
    <Section title={t('routes')} aside={mayAttach && !none && (
      <Button size="xs" variant="default" onClick={() => setAttaching(true)} data-testid="attach">{t('attach')}</Button>
    )}>
      <Stack gap="xs">
        <ProblemNote error={list.error ?? targets.error} onRetry={() => { void list.refetch(); void targets.refetch(); }} />
        {!routes && !list.error && <Skeleton height={60} />}
        {routes?.length === 0 && (
          <Stack align="center" py="sm" role="status">
            <Empty text={t(none ? 'needTargets' : 'noRoutes')}>
              {none && <Link className="link" to="/restream">{t('toTargets')}</Link>}
            </Empty>
          </Stack>
        )}
        {routes?.map((route) => (
          <RouteCard key={route.id} route={route} platform={platformName(t, route.target.platform, presets.data)} onAir={onAir}
            actions={actionsOf(route)} />
        ))}
        {routes?.some((route) => !isOpen(route)) && <Text size="xs" c="dimmed">{t('againHint')}</Text>}
        <ProblemNote error={attach.error} />
        {list.rows?.some((route) => !isOpen(route)) && (
          <Group><Button size="compact-xs" variant="default"
            onClick={() => setHistory(!history)}>{t(history ? 'hideHistory' : 'history')}</Button></Group>
        )}
        {history && list.rows && <RouteHistory routes={list.rows.filter((route) => !isOpen(route))} list={list} />}
      </Stack>
      {attaching && (
        <AttachForm streamID={stream.id} onAir={onAir}
          targets={targets.rows?.filter(({ id }) => !routes?.some((route) => route.targetId === id && isOpen(route))) ?? []}
          close={() => setAttaching(false)} />
      )}
    </Section>
  );
}

function useTargets() {
  return useCursorList<RestreamTarget>(['restream-targets'], (query, signal) => (
    client.GET('/v1/me/restream/targets', { params: { query }, signal })
  ));
}

function useAttach(streamId: string, done: string, after?: () => void) {
  return useChange((targetIds: string[]) => (
    unwrap(client.POST('/v1/me/restream/streams/{streamId}', { params: { path: { streamId } }, body: { targetIds } }))
  ), { shows: true, done, after });
}

function RouteCard({ route, platform, onAir, actions }: { route: RestreamRoute; platform: string; onAir: boolean; actions: ReactNode }) {
  const t = useRestream();
  const { target, status, startedAt, endedAt, errorMessage, health } = route;
  const figures = [
    status === 'live' && startedAt && t('since', { time: time(startedAt) }),
    status === 'ended' && endedAt && t('endedAt', { time: time(endedAt) }),
    status === 'failed' && endedAt && t('failedAt', { time: time(endedAt) }),
    ...(health && isOpen(route) ? [
      health.connectedAt && t('bitrate', { kbps: number(health.bitrateKbps) }), t('dropped', { count: number(health.droppedFrames) }),
      health.reconnects > 0 && t('reconnects', { count: number(health.reconnects) }),
      health.lostAt && t('lostSince', { time: time(health.lostAt) }),
    ] : []),
  ].filter(Boolean);
  return (
    <Paper withBorder p="xs" data-testid="route">
      <Group justify="space-between" gap="xs">
        <Stack gap={0} miw={0}>
          <Text size="sm" fw={600} className="prose">{target.name}</Text>
          <Text size="xs" c="dimmed">{platform}</Text>
        </Stack>
        <Group gap="xs"><Status {...stateOf(t, route, onAir)} />{actions}</Group>
      </Group>
      {errorMessage && <Text size="sm" mt={4} c="var(--mantine-color-error)" className="prose">{explain(t, errorMessage)}</Text>}
      {figures.length > 0 && <Text size="xs" c="dimmed" mt={4}>{figures.join(' · ')}</Text>}
      {isOpen(route) && health?.lastError && (
        <Text size="xs" mt={4} className="prose">{t('lastProblem', { reason: explain(t, health.lastError) })}</Text>
      )}
    </Paper>
  );
}

interface AttachProps { streamID: string; onAir: boolean; targets: RestreamTarget[]; close: () => void }

function AttachForm({ streamID, onAir, targets, close }: AttachProps) {
  const t = useRestream();
  const [chosen, setChosen] = useState<string[]>([]);
  const presets = api.useQuery('get', '/v1/me/restream/presets', {}, { staleTime: Infinity });
  const attach = useAttach(streamID, t('attached'), close);
  const some = targets.length > 0;
  return (
    <FormModal title={t('attach')} open close={close} submit={() => { if (chosen.length > 0) attach.mutate(chosen); }}
      busy={attach.isPending} error={attach.error}
      action={t('attachAction')}>
      <Text size="sm">{some ? `${t('attachText', { most })} ${t(onAir ? 'attachLive' : 'attachLater')}` : t('allAttached')}</Text>
      {some && (
        <ScrollArea.Autosize mah={300}>
          <Checkbox.Group label={t('chosen')} value={chosen} onChange={setChosen} maxSelectedValues={most}>
            <Stack gap="xs" mt="xs">
              {targets.map(({ id, name, platform }) => (
                <Checkbox key={id} value={id} label={name} description={platformName(t, platform, presets.data)} />
              ))}
            </Stack>
          </Checkbox.Group>
        </ScrollArea.Autosize>
      )}
    </FormModal>
  );
}
