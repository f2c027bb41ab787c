import { Button, Stack, Text } from '@mantine/core';

import type { CaptureUrl } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { number, time } from '../lib/format.js';
import { Empty, Heading, useChange, useConfirm } from '../lib/parts.js';
import { DataList } from '../lib/table.js';
import { useHooks } from '../messages/hooks.js';
import { useMay, useMayCall } from './identity.js';

export default function Tester() {
  const t = useHooks();
  const may = useMay();
  const mayCall = useMayCall();
  const confirm = useConfirm();
  const list = api.useQuery('get', '/v1/me/webhook-tester', {}, { refetchInterval: 10_000 });
  const create = useChange(() => unwrap(client.POST('/v1/me/webhook-tester')), { done: t('created') });
  const remove = useChange((token: string) => unwrap(client.DELETE('/v1/me/webhook-tester/{token}/delete', { params: { path: { token } } })), { done: t('removed') });
  return (
    <Stack gap={0}>
      <Heading title={t('tester')}>
        {mayCall('createCaptureUrl') && (
          <Button size="xs" loading={create.isPending} onClick={() => create.mutate(undefined)} data-testid="new-capture">{t('newCapture')}</Button>
        )}
      </Heading>
      <Text size="sm" c="dimmed" mb="md">{t('testerText')}</Text>
      <DataList<CaptureUrl> name="capture-addresses" label={t('tester')} rows={list.data} error={list.error} retry={() => void list.refetch()} fetching={list.isFetching}
        link={({ token }) => `/webhook-tester/${token}`} empty={<Empty text={t('noCaptureUrls')} />}
        columns={[
          { key: 'url', title: t('address'), value: ({ url }) => url },
          { key: 'captured', title: t('captured'), value: ({ captured }) => captured, render: ({ captured }) => number(captured), wide: true },
          { key: 'last', title: t('lastCaptured'), value: ({ lastCapturedAt }) => lastCapturedAt, render: ({ lastCapturedAt }) => time(lastCapturedAt), wide: true },
        ]}
        actions={({ token }) => may('webhooks:write') && (
          <Button size="compact-xs" variant="default" onClick={() => confirm(t('remove'), t('removeCapture'), () => remove.mutate(token))}>{t('remove')}</Button>
        )} />
    </Stack>
  );
}
