import { Badge, Button, Group, NativeSelect, Stack, Text, Title } from '@mantine/core';

import { api, client, unwrap } from '../lib/api.js';
import { number, time } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useChat } from '../messages/chat.js';
import { channelKey, useModerator, type RestrictionState, type useRestrictions } from './chat-data.js';
import { undos, useLift } from './chat-restrict.js';

const slowModes = [0, 5, 10, 30, 60, 300, 900, 3600];
const channelMs = 15_000;

// The time that users must wait between two messages of theirs.
export function SlowMode({ id }: { id: string }) {
  const t = useChat();
  const by = useModerator();
  const channel = api.useQuery('get', '/v1/me/channels/{id}', { params: { path: { id } } }, { refetchInterval: channelMs });
  const change = useChange((slowmodeSec: number) => (
    unwrap(client.POST('/v1/me/channels/{id}/moderate/slowmode', { params: { path: { id } }, body: { slowmodeSec, by: by ?? '' } }))
  ), { done: t('slowChanged'), touches: [channelKey(id)] });
  const now = channel.data?.slowmodeSec;
  if (now === undefined) return <ProblemNote error={channel.error} onRetry={() => void channel.refetch()} />;
  const lengthOf = (sec: number) => {
    if (sec % 3600 === 0) return t('hours', { n: number(sec / 3600) });
    return sec % 60 === 0 ? t('minutes', { n: number(sec / 60) }) : t('seconds', { n: number(sec) });
  };
  const label = (sec: number) => (sec === 0 ? t('slowOff') : t('slowFor', { time: lengthOf(sec) }));
  if (!by) return <Text size="sm" c="dimmed">{label(now)}</Text>;
  const offered = [...new Set([...slowModes, now])].sort((a, b) => a - b);
  return (
    <NativeSelect size="xs" aria-label={t('slowmode')} disabled={change.isPending} value={String(change.isPending ? change.variables : now)}
      data={offered.map((sec) => ({ value: String(sec), label: label(sec) }))}
      onChange={(event) => change.mutate(Number(event.currentTarget.value))} />
  );
}

export function RestrictionBadge({ of: { kind, until } }: { of: RestrictionState }) {
  const t = useChat();
  return (
    <Badge size="sm" variant="outline" color={kind === 'ban' ? 'red' : 'orange'} tt="none" miw="max-content"
      title={until ? time(until) : undefined}>
      {kind === 'timeout' ? t('timedOutShort') : t(kind === 'ban' ? 'banned' : 'muted')}
    </Badge>
  );
}

interface RestrictedProps { id: string; list: ReturnType<typeof useRestrictions>; nameOf: (userId: string) => string }

// The users who can't write now, with a button for each that ends it.
export function Restricted({ id, list, nameOf }: RestrictedProps) {
  const t = useChat();
  const by = useModerator();
  const lift = useLift(id);
  const { restrictions } = list;
  return (
    <Stack gap="xs" mt="md">
      <Title order={3} size="h6">{t('restricted')}</Title>
      <ProblemNote error={list.error} onRetry={() => void list.refetch()} />
      {restrictions?.length === 0 && !list.hasNextPage && (
        <Text size="sm" c="dimmed">{t('unrestricted')}{by && ` ${t('restrictHint')}`}</Text>
      )}
      {restrictions?.map((one) => {
        const { kind, userId, since, until, reason } = one;
        const name = nameOf(userId);
        const facts = [kind === 'timeout' && until && t('timedOut', { time: time(until) }), t('since', { time: time(since) }), reason];
        return (
          <Group key={`${kind} ${userId}`} justify="space-between" wrap="nowrap" gap="xs">
            <div>
              <Group gap={6}><Text size="sm" fw={600} className="wrap">{name}</Text><RestrictionBadge of={one} /></Group>
              <Text size="xs" c="dimmed" className="wrap">{facts.filter(Boolean).join(' · ')}</Text>
            </div>
            {by && (
              <Button size="compact-xs" variant="default" miw="max-content" aria-label={t('undoFor', { act: t(undos[kind]), name })}
                loading={lift.isPending && lift.variables.kind === kind && lift.variables.userId === userId}
                onClick={() => lift.mutate({ kind, userId })}>{t(undos[kind])}</Button>
            )}
          </Group>
        );
      })}
      <MoreButton list={list} />
    </Stack>
  );
}
