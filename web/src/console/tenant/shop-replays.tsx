import { Badge, Group, Stack, Text } from '@mantine/core';

import type { Recording, Stream } from '../../gen/api.js';
import { client } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { duration, time } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { Section } from '../lib/parts.js';
import { CopyText, ProblemNote } from '../lib/problem.js';
import { useShopPage } from '../messages/shop-page.js';
import { useMay } from './identity.js';
import { isOpenReplay, replayLink } from './shop-links.js';

// The recordings of a stream that can be watched.
export function useReplays(streamID: string) {
  const reads = useMay()('recordings:read');
  const list = useCursorList<Recording>(['recordings', streamID], (query, signal) => (
    client.GET('/v1/me/streams/{id}/recordings', { params: { path: { id: streamID }, query }, signal })
  ));
  return { ...list, rows: reads ? list.rows?.filter(({ status }) => status === 'READY') : [] };
}

export function Replays({ stream }: { stream: Stream }) {
  const t = useShopPage();
  const list = useReplays(stream.id);
  return (
    <Section title={t('replays')}>
      <ProblemNote error={list.error} onRetry={() => void list.refetch()} />
      {list.rows?.length === 0 ? <Text size="sm" c="dimmed">{t('noReplays')}</Text> : (
        <Stack gap="xs">
          <Text size="sm">{t('replaysText')}</Text>
          {list.rows?.map((recording) => {
            const open = isOpenReplay(stream, recording);
            const name = recording.name ?? time(recording.startedAt);
            return (
              <Group key={recording.id} justify="space-between" gap="xs">
                <Text size="sm">{name} · {duration(recording.durationSec)}</Text>
                <Group gap="xs">
                  <Badge variant="dot" size="sm" miw="max-content" tt="none" color={open ? 'green' : 'gray'}>
                    {t(open ? 'openToAll' : 'tokenNeeded')}
                  </Badge>
                  <CopyText text={replayLink(recording.id)} label={t('copyReplay', { name })} />
                </Group>
              </Group>
            );
          })}
          <MoreButton list={list} />
        </Stack>
      )}
    </Section>
  );
}
