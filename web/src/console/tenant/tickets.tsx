import { Button, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import type { SupportTicket, TicketPriority } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { FilePicker, useChosenFiles } from '../lib/attachments.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { number, time } from '../lib/format.js';
import { Empty, FormModal, Heading, Section, Status, useChange } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useSupport } from '../messages/support.js';
import { AnnouncementList } from './announcements.js';
import { useIdentity, useMayCall } from './identity.js';
import { uploadFile } from './ticket-file.js';

const priorities = ['LOW', 'NORMAL', 'HIGH', 'URGENT'] as const satisfies readonly TicketPriority[];

export default function Tickets() {
  const t = useSupport();
  const common = useCommon();
  const mayCall = useMayCall();
  const { user } = useIdentity();
  const [creating, setCreating] = useState(false);
  const list = useCursorList<SupportTicket>(['tickets'], (query, signal) => client.GET('/v1/me/tickets', { params: { query }, signal }), 30_000);
  return (
    <Stack>
      <Heading title={t('title')}>
        {user && mayCall('createTicket') && <Button size="xs" onClick={() => setCreating(true)} data-testid="new-ticket">{t('newTicket')}</Button>}
      </Heading>
      <AnnouncementList />
      <Section title={t('tickets')}>
        <CursorList<SupportTicket> name="tickets" label={t('tickets')} list={list}
          link={({ id }) => `/support/${id}`} empty={<Empty text={t('noTickets')} />}
          columns={[
            { key: 'name', title: t('subject'), value: ({ subject }) => subject },
            { key: 'number', title: t('number'), value: (row) => row.number, wide: true },
            { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Status of={status} label={t(status)} /> },
            { key: 'priority', title: t('priority'), value: ({ priority }) => priority, render: ({ priority }) => t(priority), wide: true },
            { key: 'requester', title: t('requester'), value: ({ requesterName }) => requesterName, wide: true },
            { key: 'messages', title: t('messages'), value: ({ messageCount }) => messageCount, render: ({ messageCount }) => number(messageCount), wide: true },
            { key: 'last', title: t('lastMessage'), value: ({ lastMessageAt }) => lastMessageAt, render: ({ lastMessageAt }) => time(lastMessageAt), wide: true },
          ]} />
      </Section>
      {creating && <NewTicket close={() => setCreating(false)} />}
    </Stack>
  );
}

function NewTicket({ close }: { close: () => void }) {
  const t = useSupport();
  const common = useCommon();
  const navigate = useNavigate();
  const [subject, setSubject] = useState('');
  const [body, setBody] = useState('');
  const [priority, setPriority] = useState<TicketPriority>('NORMAL');
  const files = useChosenFiles(uploadFile);
  const create = useChange(() => unwrap(client.POST('/v1/me/tickets', { body: { subject, body, priority, attachmentIds: files.ids } })), {
    shows: true, after: ({ ticket }) => { void navigate({ to: '/support/$id', params: { id: ticket.id } as never }); },
  });
  const faults = fieldErrors(create.error);
  return (
    <FormModal title={t('newTicket')} open close={close} submit={() => create.mutate(undefined)} busy={create.isPending} blocked={files.blocks}
      error={create.error} action={common('create')}>
      <TextInput label={t('subject')} name="subject" required maxLength={200} value={subject} error={faults.subject} data-autofocus
        onChange={(event) => setSubject(event.currentTarget.value)} />
      <Textarea label={t('body')} name="body" description={t('bodyHint')} required maxLength={20000} autosize minRows={5} maxRows={16} value={body} error={faults.body}
        onChange={(event) => setBody(event.currentTarget.value)} />
      <Select label={t('priority')} value={priority} allowDeselect={false} onChange={(next) => setPriority(next as TicketPriority)}
        data={priorities.map((value) => ({ value, label: t(value) }))} />
      <FilePicker chosen={files} />
    </FormModal>
  );
}
