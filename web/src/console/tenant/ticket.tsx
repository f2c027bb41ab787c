import { Badge, Button, Card, Group, Stack, Text, Textarea } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';

import type { SupportMessage, TicketAuthorType } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { AttachmentList, FilePicker, useChosenFiles } from '../lib/attachments.js';
import { time } from '../lib/format.js';
import { Heading, Section, Status, Waiting, useChange, useConfirm } from '../lib/parts.js';
import { fieldErrors, ProblemNote } from '../lib/problem.js';
import { useSupport } from '../messages/support.js';
import { useIdentity, useMayCall } from './identity.js';
import { uploadFile } from './ticket-file.js';

export default function TicketPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useSupport();
  const mayCall = useMayCall();
  const { user } = useIdentity();
  const confirm = useConfirm();
  const path = { params: { path: { id } } };
  const query = api.useQuery('get', '/v1/me/tickets/{id}', path, { refetchInterval: 20_000 });
  const close = useChange(() => unwrap(client.POST('/v1/me/tickets/{id}/close', path)), { done: t('closed') });
  if (!query.data) return <Waiting query={query} />;
  const { ticket, messages } = query.data;
  const open = ticket.status !== 'CLOSED';
  return (
    <Stack maw={760}>
      <div>
        <Link className="link" to="/support">{t('allTickets')}</Link>
        <Heading title={ticket.subject}>
          {open && user && mayCall('closeTicket') && (
            <Button size="xs" variant="default" loading={close.isPending} onClick={() => confirm(t('close'), t('closeText'), () => close.mutate(undefined))}>
              {t('close')}
            </Button>
          )}
        </Heading>
        <Group gap="xs">
          <Status of={ticket.status} label={t(ticket.status)} />
          <Text size="sm" c="dimmed">{t('number')} {ticket.number} · {t('priority')}: {t(ticket.priority)} · {t('requester')}: {ticket.requesterName}</Text>
        </Group>
      </div>
      <Section title={t('conversation')}>
        <Stack gap="sm">{messages.map((message) => <Message key={message.id} ticketID={id} message={message} />)}</Stack>
      </Section>
      {!open && <Text size="sm" c="dimmed">{t('closedNote')}</Text>}
      {open && user && mayCall('addTicketMessage') && <Reply id={id} />}
    </Stack>
  );
}

const authors = { TENANT: 'byTeam', ADMIN: 'bySupport', SYSTEM: 'bySystem' } as const satisfies Record<TicketAuthorType, string>;

// The support's messages stand on the right side, on the brand's colour.
function Message({ ticketID, message: { authorType, authorName, body, attachments, createdAt } }: { ticketID: string; message: SupportMessage }) {
  const t = useSupport();
  const support = authorType === 'ADMIN';
  return (
    <Card withBorder padding="sm" className={support ? 'message support' : 'message'} component="article">
      <Group gap="xs" mb={4}>
        <Text size="sm" fw={600}>{authorName}</Text>
        <Badge size="sm" variant={support ? 'filled' : 'outline'} color={support ? 'brand' : 'gray'} miw="max-content" tt="none">{t(authors[authorType])}</Badge>
        <Text size="xs" c="dimmed">{time(createdAt)}</Text>
      </Group>
      <Text size="sm" className="prose">{body}</Text>
      <AttachmentList of={attachments} load={(attachmentId) => (
        unwrap(client.GET('/v1/me/tickets/{id}/attachments/{attachmentId}', { params: { path: { id: ticketID, attachmentId } }, parseAs: 'blob' }))
      )} />
    </Card>
  );
}

function Reply({ id }: { id: string }) {
  const t = useSupport();
  const [body, setBody] = useState('');
  const files = useChosenFiles(uploadFile);
  const send = useChange(() => unwrap(client.POST('/v1/me/tickets/{id}/reply', { params: { path: { id } }, body: { body, attachmentIds: files.ids } })), {
    shows: true, done: t('sent'), after: () => { setBody(''); files.clear(); },
  });
  return (
    <form onSubmit={(event: FormEvent) => { event.preventDefault(); send.mutate(undefined); }}>
      <Stack gap="sm" align="stretch">
        <Textarea label={t('answer')} name="reply" required maxLength={20000} autosize minRows={3} maxRows={16} value={body} error={fieldErrors(send.error).body}
          onChange={(event) => setBody(event.currentTarget.value)} />
        <FilePicker chosen={files} />
        <ProblemNote error={send.error} />
        <Group><Button type="submit" loading={send.isPending} disabled={body.trim() === '' || files.blocks} data-testid="send-reply">{t('send')}</Button></Group>
      </Stack>
    </form>
  );
}
