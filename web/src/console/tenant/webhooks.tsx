import { Alert, Button, Code, Group, MultiSelect, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { EventName, WebhookEndpointSecret } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { time } from '../lib/format.js';
import { Empty, FormModal, Heading, Status, useChange } from '../lib/parts.js';
import { CopyText, fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { useStates } from '../messages/states.js';
import { eventNames } from './event-names.js';
import { useMayCall } from './identity.js';

export default function Webhooks() {
  const t = useConsole();
  const common = useCommon();
  const states = useStates();
  const mayCall = useMayCall();
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<WebhookEndpointSecret | null>(null);
  const list = useCursorList(['webhooks'], (query, signal) => client.GET('/v1/me/webhooks', { params: { query }, signal }));
  return (
    <Stack gap={0}>
      <Heading title={t('webhooks')}>
        {mayCall('createWebhook') && <Button size="xs" onClick={() => setCreating(true)} data-testid="new-endpoint">{t('newEndpoint')}</Button>}
      </Heading>
      {made && (
        <Alert variant="outline" color="brand" title={t('endpointCreated')} mb="md" role="status">
          {t('secretShown')}
          <Group gap="xs" mt="xs"><Code data-testid="secret">{made.secret}</Code><CopyText text={made.secret} /></Group>
        </Alert>
      )}
      <CursorList name="webhooks" label={t('webhooks')} list={list}
        link={({ id }) => `/webhooks/${id}`} empty={<Empty text={t('noEndpoints')} />}
        columns={[
          { key: 'url', title: t('url'), value: ({ url }) => url },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Status of={status} label={states(status === 'active' ? 'ACTIVE' : 'DISABLED')} /> },
          { key: 'events', title: t('events'), value: ({ events }) => events.join(' ') || common('all'), wide: true,
            render: ({ events }) => (events.length === 0 ? common('all') : events.slice(0, 3).join(', ') + (events.length > 3 ? ` +${events.length - 3}` : '')) },
          { key: 'created', title: common('created'), value: ({ createdAt }) => createdAt, render: ({ createdAt }) => time(createdAt), wide: true },
        ]} />
      <NewEndpoint open={creating} close={() => setCreating(false)} made={setMade} />
    </Stack>
  );
}

function NewEndpoint({ open, close, made }: { open: boolean; close: () => void; made: (endpoint: WebhookEndpointSecret) => void }) {
  const t = useConsole();
  const common = useCommon();
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState<string[]>([]);
  const create = useChange(() => unwrap(client.POST('/v1/me/webhooks', { body: { url, ...(events.length > 0 && { events: events as EventName[] }) } })), {
    shows: true, after: (endpoint) => { made(endpoint); setUrl(''); setEvents([]); close(); },
  });
  return (
    <FormModal title={t('newEndpoint')} open={open} close={close} submit={() => create.mutate(undefined)} busy={create.isPending} error={create.error} action={common('create')}>
      <TextInput label={t('url')} name="url" type="url" required placeholder="https://example.com/events" value={url} data-autofocus
        error={fieldErrors(create.error).url} onChange={(event) => setUrl(event.currentTarget.value)} />
      <MultiSelect label={t('events')} description={t('eventsHint')} data={eventNames} value={events} onChange={setEvents} searchable clearable />
    </FormModal>
  );
}
