import { Button, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';

import type { PushCredentials, PushNotification } from '../../gen/api.js';
import { api, client } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { number, time } from '../lib/format.js';
import { Empty, Heading, Section, Status, Waiting } from '../lib/parts.js';
import { useListState } from '../lib/table.js';
import { useCommon } from '../messages/common.js';
import { usePush } from '../messages/push.js';
import { useMay, useMayCall } from './identity.js';
import { CloudForm, IosForm } from './push-credentials.js';
import { RemoveDevice, SendPush, TestDevice } from './push-send.js';

export default function Push() {
  const t = usePush();
  const may = useMay();
  const [state, change] = useListState();
  const [typed, setTyped] = useState(state.project ?? 'default');
  const project = state.project ?? 'default';
  const apply = useDebouncedCallback((next: string) => change({ project: next.trim() }), 400);
  const [dialog, setDialog] = useState<'send' | 'test' | 'remove' | null>(null);
  const close = () => setDialog(null);
  return (
    <Stack>
      <Heading title={t('title')}>
        {may('push:write') && (
          <>
            <Button size="xs" onClick={() => setDialog('send')} data-testid="send-push">{t('send')}</Button>
            <Button size="xs" variant="default" onClick={() => setDialog('test')}>{t('test')}</Button>
            <Button size="xs" variant="default" onClick={() => setDialog('remove')}>{t('remove')}</Button>
          </>
        )}
      </Heading>
      <TextInput label={t('project')} description={t('projectHint')} name="project" maxLength={64} maw={560} value={typed}
        onChange={(event) => { setTyped(event.currentTarget.value); apply(event.currentTarget.value); }} />
      <Credentials project={project} />
      <Sent />
      {dialog === 'send' && <SendPush project={project} close={close} />}
      {dialog === 'test' && <TestDevice project={project} close={close} />}
      {dialog === 'remove' && <RemoveDevice close={close} />}
    </Stack>
  );
}

function Credentials({ project }: { project: string }) {
  const t = usePush();
  const mayCall = useMayCall();
  const [dialog, setDialog] = useState<'ios' | 'cloud' | null>(null);
  const query = api.useQuery('get', '/v1/me/push/projects/{projectId}/credentials', { params: { path: { projectId: project } } });
  const credentials = query.data;
  if (!credentials) return <Waiting query={query} height={120} />;
  const edit = (which: 'ios' | 'cloud') => mayCall(which === 'ios' ? 'setIosPushCredentials' : 'setCloudPushCredentials') && (
    <Button size="xs" variant="default" onClick={() => setDialog(which)} aria-label={`${t('change')}: ${t(which)}`}>{t('change')}</Button>
  );
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Section title={t('ios')} aside={edit('ios')}>
        <State configured={credentials.iosPushConfigured} enabled={credentials.iosPushEnabled} />
        {credentials.iosPushBundleId && <Text size="sm">{t('bundle')}: {credentials.iosPushBundleId}</Text>}
        {credentials.iosPushConfigured && <Text size="sm">{t(credentials.iosPushProduction ? 'production' : 'sandbox')}</Text>}
      </Section>
      <Section title={t('cloud')} aside={edit('cloud')}>
        <State configured={credentials.cloudPushConfigured} enabled={credentials.cloudPushEnabled} />
        {credentials.cloudPushProjectId && <Text size="sm">{t('cloudProject')}: {credentials.cloudPushProjectId}</Text>}
      </Section>
      {dialog && <Form which={dialog} project={project} credentials={credentials} close={() => setDialog(null)} />}
    </SimpleGrid>
  );
}

function Form({ which, ...props }: { which: 'ios' | 'cloud'; project: string; credentials: PushCredentials; close: () => void }) {
  return which === 'ios' ? <IosForm {...props} /> : <CloudForm {...props} />;
}

function State({ configured, enabled }: { configured: boolean; enabled: boolean }) {
  const t = usePush();
  return (
    <Group gap="xs" mb={4}>
      <Status of={configured ? 'READY' : 'NONE'} label={t(configured ? 'configured' : 'notConfigured')} />
      {configured && <Status of={enabled ? 'ENABLED' : 'DISABLED'} label={t(enabled ? 'on' : 'off')} />}
    </Group>
  );
}

function Sent() {
  const t = usePush();
  const common = useCommon();
  const list = useCursorList<PushNotification>(['push-notifications'], (query, signal) => client.GET('/v1/me/push/notifications', { params: { query }, signal }), 20_000);
  const failed = ({ outcomes }: PushNotification) => (
    outcomes.credentialFaults + outcomes.expired + outcomes.rejected + outcomes.stale + outcomes.throttled + outcomes.unreachable
  );
  return (
    <Section title={t('sentList')}>
      <CursorList<PushNotification> name="notifications" label={t('sentList')} list={list}
        empty={<Empty text={t('noSent')} />}
        columns={[
          { key: 'name', title: t('subject'), value: ({ title }) => title },
          { key: 'attempted', title: t('attempted'), value: ({ attempted }) => attempted, render: ({ attempted }) => number(attempted) },
          { key: 'delivered', title: t('delivered'), value: ({ outcomes }) => outcomes.delivered, render: ({ outcomes }) => number(outcomes.delivered), wide: true },
          { key: 'failed', title: t('failed'), value: failed, render: (row) => number(failed(row)), wide: true },
          { key: 'waiting', title: t('waiting'), value: ({ pending }) => pending, render: ({ pending }) => number(pending), wide: true },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt), wide: true },
        ]} />
    </Section>
  );
}
