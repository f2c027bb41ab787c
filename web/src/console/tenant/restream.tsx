import { Button, Code, Group, Text } from '@mantine/core';
import { useState } from 'react';

import type { RestreamTarget } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { time } from '../lib/format.js';
import { Empty, Heading, useChange, useConfirm } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useRestream } from '../messages/restream.js';
import { useMay, useMayCall } from './identity.js';
import { endOf, TargetForm } from './restream-form.js';
import { platformName } from './restream-platforms.js';
import { TestDialog } from './restream-test.js';

type Dialog = { form: RestreamTarget | null } | { test: RestreamTarget };

export default function RestreamTargets() {
  const t = useRestream();
  const common = useCommon();
  const may = useMay();
  const mayCall = useMayCall();
  const confirm = useConfirm();
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const presets = api.useQuery('get', '/v1/me/restream/presets', {}, { staleTime: Infinity });
  const list = useCursorList<RestreamTarget>(['restream-targets'], (query, signal) => (
    client.GET('/v1/me/restream/targets', { params: { query }, signal })
  ));
  const remove = useChange((id: string) => (
    unwrap(client.DELETE('/v1/me/restream/targets/{id}', { params: { path: { id } } }))
  ), { done: t('removed') });
  const known = presets.data ?? [];
  const close = () => setDialog(null);
  const create = mayCall('createRestreamTarget') && (
    <Button size="xs" disabled={!presets.data} onClick={() => setDialog({ form: null })} data-testid="new-target">{t('newTarget')}</Button>
  );
  return (
    <>
      <Heading title={t('title')}>{create}</Heading>
      <Text size="sm" c="dimmed" mb="md">{t('intro')}</Text>
      <ProblemNote error={presets.error} onRetry={() => void presets.refetch()} />
      <CursorList<RestreamTarget> name="restream-targets" label={t('title')} list={list}
        empty={<Empty text={t('noTargets')} />}
        columns={[
          { key: 'name', title: common('name'), value: ({ name }) => name, render: ({ name, platform }) => (
            <><Text size="sm">{name}</Text><Text size="xs" c="dimmed" hiddenFrom="md">{platformName(t, platform, known)}</Text></>
          ) },
          { key: 'platform', title: t('platform'), value: ({ platform }) => platformName(t, platform, known), wide: true },
          { key: 'address', title: t('address'), value: ({ rtmpUrl }) => rtmpUrl, wide: true,
            render: ({ rtmpUrl }) => <Text size="sm">{t('addressEnds', { end: '' })}<Code>{endOf(rtmpUrl)}</Code></Text> },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, wide: true,
            render: ({ createdAt }) => time(createdAt) },
        ]}
        actions={may('restream:write') ? (target) => (
          <Group gap={4} justify="flex-end" wrap="nowrap">
            <Button size="compact-xs" variant="default" aria-label={t('testName', { name: target.name })}
              onClick={() => setDialog({ test: target })}>{t('test')}</Button>
            {mayCall('updateRestreamTarget') && (
              <Button size="compact-xs" variant="default" aria-label={t('editName', { name: target.name })}
                onClick={() => setDialog({ form: target })}>{t('edit')}</Button>
            )}
            <Button size="compact-xs" variant="default" aria-label={t('removeName', { name: target.name })}
              onClick={() => confirm(t('remove'), t('removeText', { name: target.name }), () => remove.mutate(target.id))}>
              {t('remove')}
            </Button>
          </Group>
        ) : undefined} />
      {dialog && 'form' in dialog && presets.data && <TargetForm target={dialog.form ?? undefined} presets={presets.data} close={close} />}
      {dialog && 'test' in dialog && <TestDialog target={dialog.test} close={close} />}
    </>
  );
}
