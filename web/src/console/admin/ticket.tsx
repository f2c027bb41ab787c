import { Alert, Button, Card, Group, SimpleGrid, Select, Stack, TagsInput, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';

import type { TicketDetail, TicketMessage, TicketPatch, TicketPriority, TicketStatus } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { AttachmentList } from '../lib/attachments.js';
import { time } from '../lib/format.js';
import { Heading, Section, Waiting, useConfirm } from '../lib/parts.js';
import { useAdminSupport } from '../messages/admin-support.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { useMay, useMyID } from './gate.js';
import { Facts, Tag, useOptions } from './shown.js';
import { ReplyForm } from './ticket-reply.js';
import { priorities, ticketStatuses } from './tickets.js';
import { DraftNote, useDraft, versioned, type Versioned } from './versioned.js';

const load = (id: string) => versioned(client.GET('/v1/admin/tickets/{id}', { params: { path: { id } } }));

export default function TicketPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const query = useQuery({ queryKey: ['admin-ticket', id], queryFn: () => load(id), refetchInterval: 15_000 });
  if (!query.data) return <Waiting query={query} />;
  return <Conversation current={query.data} />;
}

function Conversation({ current }: { current: Versioned<TicketDetail> }) {
  const t = useAdminSupport();
  const common = useCommon();
  const word = useWord();
  const may = useMay();
  const confirm = useConfirm();
  const { ticket, messages } = current.data;
  const path = { id: ticket.id };
  const draft = useDraft<TicketDetail, TicketPatch>({
    current,
    load: () => load(ticket.id),
    save: (body, etag) => unwrap(client.PATCH('/v1/admin/tickets/{id}', { params: { path, header: { 'If-Match': etag } }, body })),
    fields: ({ ticket: { status, priority, tags, assigneeId, messageCount } }) => (
      { [common('status')]: word(status), [t('priority')]: word(priority), [t('tags')]: tags, [t('assigned')]: assigneeId,
        [t('messages')]: messageCount }
    ),
  });
  const closed = ticket.status === 'CLOSED';
  return (
    <Stack>
      <Heading title={`#${ticket.number} ${ticket.subject}`}>
        <Tag of={ticket.status} /><Tag of={ticket.priority} />
        {may('admin:support') && (closed
          ? <Button size="xs" onClick={() => draft.save({ status: 'OPEN' })}>{t('reopen')}</Button>
          : <Button size="xs" variant="default" data-testid="close-ticket" onClick={() => confirm(t('closeTicket'), t('closeText'),
            () => draft.save({ status: 'CLOSED' }))}>{t('closeTicket')}</Button>)}
      </Heading>
      <DraftNote draft={draft} />
      <div className="beside">
        <Stack>
          <Section title={t('messages')}><Stack gap="sm">{messages.map((message) => <Message key={message.id}
            of={message} />)}</Stack></Section>
          {may('admin:support') && (closed ? <Alert variant="outline" color="gray">{t('isClosed')}</Alert> : <ReplyForm id={ticket.id} />)}
        </Stack>
        <Properties draft={draft} detail={current.data} />
      </div>
    </Stack>
  );
}

function Message({ of: { ticketId, authorName, authorType, attachments, body, createdAt, internal } }: { of: TicketMessage }) {
  const t = useAdminSupport();
  const word = useWord();
  const may = useMay();
  return (
    <Card withBorder padding="sm" className={internal ? 'note' : undefined} ml={authorType === 'TENANT' ? 0 : 'lg'}>
      <Group justify="space-between" gap="xs" mb={4}>
        <Text size="sm" fw={600} className="wrap">{authorType === 'SYSTEM' ? t('server') : authorName} <Text span size="xs"
          c="dimmed">{word(authorType)}</Text></Text>
        <Text size="xs" c="dimmed">{internal ? `${t('internal')} · ` : ''}{time(createdAt)}</Text>
      </Group>
      <Text size="sm" className="prose">{body}</Text>
      <AttachmentList of={attachments} load={may('admin:support') ? (attachmentId) => (
        unwrap(client.GET('/v1/admin/tickets/{id}/attachments/{attachmentId}', { params: { path: { id: ticketId, attachmentId } }, parseAs: 'blob' }))
      ) : undefined} />
    </Card>
  );
}

type TicketDraft = ReturnType<typeof useDraft<TicketDetail, TicketPatch>>;

// An admin's address is known from the messages; the API has no list of admins.
function useAssignee() {
  const t = useAdminSupport();
  const me = useMyID();
  return ({ ticket: { assigneeId }, messages }: TicketDetail) => {
    if (assigneeId === null) return t('unassigned');
    if (assigneeId === me) return t('me');
    return messages.find(({ authorId }) => authorId === assigneeId)?.authorName ?? t('another');
  };
}

function Properties({ draft, detail }: { draft: TicketDraft; detail: TicketDetail }) {
  const t = useAdminSupport();
  const common = useCommon();
  const may = useMay();
  const me = useMyID();
  const assignee = useAssignee();
  const statuses = useOptions(ticketStatuses);
  const urgencies = useOptions(priorities);
  const { ticket } = detail;
  return (
    <Section title={t('properties')}>
      <Stack gap="sm">
        <Facts of={[
          [t('tenant'), <Link key="tenant" className="link" to={`/tenants/${ticket.tenantId}` as never}>{ticket.tenantName}</Link>],
          [t('requester'), `${ticket.requesterName} · ${ticket.requesterEmail}`],
          [t('assigned'), assignee(detail)],
          [common('created'), time(ticket.createdAt)],
          [t('firstReply'), time(ticket.firstReplyAt)],
        ]} />
        {may('admin:support') && (
          <>
            {ticket.assigneeId === me
              ? <Button size="xs" variant="default" loading={draft.saving}
                onClick={() => draft.save({ assigneeId: null })}>{t('release')}</Button>
              : <Button size="xs" variant="default" loading={draft.saving}
                onClick={() => draft.save({ assigneeId: me })}>{t('takeOver')}</Button>}
            <SimpleGrid cols={2} spacing="xs">
              <Select label={common('status')} data={statuses} value={draft.draft.status ?? ticket.status} allowDeselect={false}
                onChange={(next) => draft.set({ status: next as TicketStatus })} />
              <Select label={t('priority')} data={urgencies} value={draft.draft.priority ?? ticket.priority} allowDeselect={false}
                onChange={(next) => draft.set({ priority: next as TicketPriority })} />
            </SimpleGrid>
            <TagsInput label={t('tags')} description={t('tagsHint')} value={draft.draft.tags ?? ticket.tags}
              onChange={(tags) => draft.set({ tags })} />
            <Button loading={draft.saving} disabled={!draft.changed} onClick={() => draft.save()}
              data-testid="save-ticket">{common('save')}</Button>
          </>
        )}
      </Stack>
    </Section>
  );
}
