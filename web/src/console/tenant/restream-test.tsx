import { Alert, Badge, Button, Group, Modal, Progress, Stack, Text, Title } from '@mantine/core';
import { useEffect, useState } from 'react';

import type { RestreamTarget, RestreamTargetTest } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { number } from '../lib/format.js';
import { useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useRestream } from '../messages/restream.js';
import { explain } from './restream-words.js';

const longestS = 10;

export function TestDialog({ target, close }: { target: RestreamTarget; close: () => void }) {
  const t = useRestream();
  const common = useCommon();
  const test = useChange(() => (
    unwrap(client.POST('/v1/me/restream/targets/{id}/test', { params: { path: { id: target.id } } }))
  ), { shows: true });
  return (
    <Modal opened onClose={close} title={t('testTitle', { name: target.name })} closeButtonProps={{ 'aria-label': common('close') }}>
      <Stack>
        {!test.data && <Text size="sm">{t('testText')}</Text>}
        {test.isPending ? <Running /> : test.data && <Result of={test.data} />}
        <ProblemNote error={test.error} />
        <Button loading={test.isPending} onClick={() => test.mutate(undefined)} data-testid="start-test"
          variant={test.data ? 'default' : 'filled'}>
          {t(test.data || test.error ? 'testAgain' : 'startTest')}
        </Button>
      </Stack>
    </Modal>
  );
}

function Running() {
  const t = useRestream();
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((was) => was + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <Stack gap={4}>
      <Text size="sm" role="status">{t('testing', { seconds })}</Text>
      <Progress value={Math.min(100, 100 * (seconds + 1) / longestS)} animated aria-label={t('test')} />
    </Stack>
  );
}

function Result({ of }: { of: RestreamTargetTest }) {
  const t = useRestream();
  const [title, note, colour] = of.keyAccepted === null ? [t('keyUnknown'), t('keyUnknownNote'), 'orange'] as const
    : of.keyAccepted ? [t('keyGood'), t('keyGoodNote'), 'green'] as const : [t('keyBad'), t('keyBadNote'), 'red'] as const;
  return (
    <Stack gap="xs">
      <Alert variant="outline" color={colour} title={<Text size="sm" fw={700} c="var(--mantine-color-text)">{title}</Text>} role="status"
        data-testid="test-result">
        <Stack gap={4}>
          {of.keyAccepted === null && <Text size="sm">{explain(t, of.message)}</Text>}
          <Text size="sm">{note}</Text>
          {of.targetAnswer && <Text size="xs" c="dimmed" className="prose">{t('answered', { answer: of.targetAnswer })}</Text>}
        </Stack>
      </Alert>
      <Title order={3} size="h6">{t('steps')}</Title>
      {of.steps.map(({ name, succeeded, tookMs, failure }) => (
        <Stack key={name} gap={2}>
          <Group justify="space-between" gap="xs" wrap="nowrap">
            <Text size="sm">{t(name)}</Text>
            <Group gap="xs" wrap="nowrap">
              <Text size="xs" c="dimmed"
                style={{ whiteSpace: 'nowrap' }}>{tookMs < 1 ? t('underOneMs') : t('ms', { ms: number(tookMs) })}</Text>
              <Badge variant="dot" size="sm" miw="max-content" tt="none"
                color={succeeded ? 'green' : 'red'}>{t(succeeded ? 'stepDone' : 'stepFailed')}</Badge>
            </Group>
          </Group>
          {failure && failure !== of.message && <Text size="xs" c="var(--mantine-color-error)">{explain(t, failure)}</Text>}
        </Stack>
      ))}
      {of.tookMs >= 100 && <Text size="xs" c="dimmed">{t('took', { seconds: number(Math.round(of.tookMs / 100) / 10) })}</Text>}
    </Stack>
  );
}
