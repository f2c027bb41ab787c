import { Alert, Button, Code, Group, MultiSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { EventName, WebhookEndpoint, WebhookEndpointSecret } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { time } from '../lib/format.js';
import { MomentInput } from '../lib/moment.js';
import { FormModal, notify, useChange, useConfirm } from '../lib/parts.js';
import { CopyText, fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { useHooks } from '../messages/hooks.js';
import { eventNames } from './event-names.js';
import { useMayCall } from './identity.js';

// Changes of a webhook endpoint: its address and events, its secret, pause, and the delivery of missed events.
export function EndpointActions({ endpoint }: { endpoint: WebhookEndpoint }) {
  const t = useHooks();
  const confirm = useConfirm();
  const mayCall = useMayCall();
  const [dialog, setDialog] = useState<'edit' | 'recover' | null>(null);
  const [made, setMade] = useState<WebhookEndpointSecret | null>(null);
  const path = { params: { path: { id: endpoint.id } } };
  const active = endpoint.status === 'active';
  const rotate = useChange(() => unwrap(client.POST('/v1/me/webhooks/{id}/rotate-secret', path)), { after: setMade });
  const turn = useChange((status: WebhookEndpoint['status']) => unwrap(client.PATCH('/v1/me/webhooks/{id}', { ...path, body: { status } })), {
    done: t(active ? 'disabled' : 'enabled'),
  });
  return (
    <>
      <Group gap="xs" mb="md">
        {mayCall('updateWebhook') && (
          <>
            <Button size="xs" variant="default" onClick={() => setDialog('edit')}>{t('edit')}</Button>
            <Button size="xs" variant="default" loading={rotate.isPending} onClick={() => confirm(t('rotateSecret'), t('rotateText'), () => rotate.mutate(undefined))}>
              {t('rotateSecret')}
            </Button>
            <Button size="xs" variant="default" loading={turn.isPending}
              onClick={() => (active ? confirm(t('disable'), t('disableText'), () => turn.mutate('disabled')) : turn.mutate('active'))}>
              {t(active ? 'disable' : 'enable')}
            </Button>
          </>
        )}
        {active && <Button size="xs" variant="default" onClick={() => setDialog('recover')}>{t('recover')}</Button>}
      </Group>
      {made && (
        <Alert variant="outline" color="brand" title={t('newSecret')} mb="md" role="status">
          {t('secretOnce', { at: time(made.previousSecretExpiresAt) })}
          <Group gap="xs" mt="xs"><Code data-testid="secret">{made.secret}</Code><CopyText text={made.secret} /></Group>
        </Alert>
      )}
      {dialog === 'edit' && <Edit endpoint={endpoint} close={() => setDialog(null)} />}
      {dialog === 'recover' && <Recover id={endpoint.id} close={() => setDialog(null)} />}
    </>
  );
}

function Edit({ endpoint, close }: { endpoint: WebhookEndpoint; close: () => void }) {
  const t = useHooks();
  const words = useConsole();
  const common = useCommon();
  const [url, setUrl] = useState(endpoint.url);
  const [events, setEvents] = useState<string[]>(endpoint.events);
  const save = useChange(() => unwrap(client.PATCH('/v1/me/webhooks/{id}', {
    params: { path: { id: endpoint.id } }, body: { url, events: events as EventName[] },
  })), { shows: true, done: common('saved'), after: close });
  const faults = fieldErrors(save.error);
  return (
    <FormModal title={t('editTitle')} open close={close} submit={() => save.mutate(undefined)} busy={save.isPending} error={save.error} action={common('save')}>
      <TextInput label={words('url')} name="url" type="url" required value={url} error={faults.url} data-autofocus onChange={(event) => setUrl(event.currentTarget.value)} />
      <MultiSelect label={words('events')} description={words('eventsHint')} data={eventNames} value={events} error={faults.events} onChange={setEvents} searchable clearable />
    </FormModal>
  );
}

function Recover({ id, close }: { id: string; close: () => void }) {
  const t = useHooks();
  const common = useCommon();
  const [since, setSince] = useState<string | null>(null);
  const recover = useChange((from: string) => unwrap(client.POST('/v1/me/webhooks/{id}/recover', {
    params: { path: { id } }, body: { since: from },
  })), { shows: true, after: ({ recovered, more }) => { notify(t(more ? 'recoveredMore' : 'recovered', { n: recovered }), common('close')); if (!more) close(); } });
  return (
    <FormModal title={t('recover')} open close={close} submit={() => since && recover.mutate(since)} busy={recover.isPending} error={recover.error} action={t('recover')}>
      <Text size="sm">{t('recoverText')}</Text>
      <MomentInput label={t('since')} name="since" required value={since} error={fieldErrors(recover.error).since} focused change={setSince} />
    </FormModal>
  );
}
