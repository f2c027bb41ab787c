import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import { client, unwrap } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { number, time } from '../lib/format.js';
import { keepNewKey } from '../lib/new-keys.js';
import { FormModal, Heading, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useAdminAccess } from '../messages/admin-access.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { Tag } from './shown.js';

export default function Apps() {
  const t = useAdminAccess();
  const common = useCommon();
  const may = useMay();
  const [creating, setCreating] = useState(false);
  return (
    <Stack gap={0}>
      <Heading title={t('apps')}>{may('admin:write') && <Button size="xs" onClick={() => setCreating(true)}
        data-testid="new">{t('newApp')}</Button>}</Heading>
      <Text size="sm" mb="md">{t('appsText')}</Text>
      <AdminList name="apps" label={t('apps')} empty={t('appsEmpty')}
        get={(query) => client.GET('/v1/admin/first-party-apps', { params: { query } })}
        link={({ id }) => `/apps/${id}`}
        columns={[
          { key: 'name', title: common('name'), value: ({ name }) => name },
          { key: 'description', title: t('description'), value: ({ description }) => description ?? '', wide: true },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} /> },
          { key: 'keys', title: t('keyCount'), value: ({ keyCount }) => keyCount, render: ({ keyCount }) => number(keyCount), wide: true },
          { key: 'used', title: t('lastUsed'), value: ({ lastUsedAt }) => lastUsedAt, render: ({ lastUsedAt }) => time(lastUsedAt),
            wide: true },
        ]} />
      <NewApp open={creating} close={() => setCreating(false)} />
    </Stack>
  );
}

function NewApp({ open, close }: { open: boolean; close: () => void }) {
  const t = useAdminAccess();
  const common = useCommon();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const create = useChange(() => unwrap(client.POST('/v1/admin/first-party-apps', { body: { name, ...(description && { description }) } })),
    {
    shows: true,
    after: ({ app, apiKey }) => {
      keepNewKey(app.id, apiKey.key ?? '');
      close();
      void navigate({ to: `/apps/${app.id}` as never });
    },
  });
  const faults = fieldErrors(create.error);
  return (
    <FormModal title={t('newApp')} open={open} close={close} submit={() => create.mutate(undefined)} busy={create.isPending}
      error={create.error} action={common('create')}>
      <TextInput label={common('name')} name="name" required maxLength={120} value={name} error={faults.name} data-autofocus
        onChange={(event) => setName(event.currentTarget.value)} />
      <TextInput label={t('description')} name="description" maxLength={500} value={description} error={faults.description}
        onChange={(event) => setDescription(event.currentTarget.value)} />
    </FormModal>
  );
}
