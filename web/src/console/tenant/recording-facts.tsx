import { Button, Code, Group, ScrollArea, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Recording } from '../../gen/api.js';
import { clockText } from '../lib/clock.js';
import { bytes, duration, time } from '../lib/format.js';
import { Section } from '../lib/parts.js';
import { CopyText } from '../lib/problem.js';
import { useRecordings } from '../messages/recordings.js';
import { useMay } from './identity.js';
import { useProducts } from './names.js';

export function RecordingFacts({ recording }: { recording: Recording }) {
  const t = useRecordings();
  const may = useMay();
  const { id, status, streamId, sessionId, startedAt, endedAt, durationSec, sizeBytes, retainUntil, metadata } = recording;
  const facts: [string, ReactNode][] = [
    [t('began'), time(startedAt)], [t('ended'), time(endedAt)], [t('length'), duration(durationSec)], [t('size'), bytes(sizeBytes)],
    [t('keptUntil'), retainUntil ? time(retainUntil) : status === 'READY' || status === 'FAILED' ? t('keptForever') : '–'],
  ];
  const link = (to: string, text: string) => <Link className="link" to={to}>{text}</Link>;
  if (streamId && may('streams:read')) facts.push([t('ofStream'), link(`/streams/${streamId}`, t('openStream'))]);
  if (sessionId && may('sessions:read')) facts.push([t('ofSession'), link(`/sessions/${sessionId}`, t('openSession'))]);
  const pairs = Object.entries(metadata);
  return (
    <Section title={t('facts')}>
      <Stack gap="xs">
        {facts.map(([label, value]) => (
          <Group key={label} justify="space-between" gap="xs">
            <Text size="sm" c="dimmed">{label}</Text><Text size="sm" component="div">{value}</Text>
          </Group>
        ))}
        {pairs.length > 0 && (
          <div>
            <Text size="sm" c="dimmed">{t('metadata')}</Text>
            {pairs.map(([key, value]) => <Text key={key} size="sm" className="prose">{key}: {value}</Text>)}
          </div>
        )}
        <div>
          <Text size="sm" c="dimmed">{t('recordingID')}</Text>
          <Group gap="xs"><Code>{id}</Code><CopyText text={id} /></Group>
        </div>
      </Stack>
    </Section>
  );
}

// The products that were pinned during the recording. A press plays the time of one.
export function RecordingProducts({ recording, seek }: { recording: Recording; seek: (seconds: number) => void }) {
  const t = useRecordings();
  const { productTimeline, status, streamId } = recording;
  const products = useProducts(productTimeline.map(({ productId }) => productId));
  if (streamId === null) return null;
  return (
    <Section title={t('products')}>
      {productTimeline.length === 0 ? <Text size="sm" c="dimmed">{t('noProducts')}</Text> : (
        <ScrollArea.Autosize mah={240} viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': t('products') }}>
          <Stack gap={6}>
            {productTimeline.map(({ ts, productId }, index) => {
              const at = clockText(Math.floor(ts));
              const name = products.get(productId)?.name ?? t('unknownProduct');
              return (
                <Group key={`${index}-${productId}`} gap="xs" wrap="nowrap">
                  {status === 'READY'
                    ? (
                      <Button size="compact-xs" variant="default" flex="none" aria-label={`${t('jump', { time: at })}: ${name}`}
                        onClick={() => seek(ts)}>{at}</Button>
                    ) : <Text size="sm">{at}</Text>}
                  <Text size="sm" className="prose">{name}</Text>
                </Group>
              );
            })}
          </Stack>
        </ScrollArea.Autosize>
      )}
    </Section>
  );
}
