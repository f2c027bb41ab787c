import { Group, Button, SegmentedControl, Select, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';

import type { TicketStatus } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { asFile, FilePicker, useChosenFiles } from '../lib/attachments.js';
import { Section, useChange } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useAdminSupport } from '../messages/admin-support.js';
import { useCommon } from '../messages/common.js';
import { useOptions } from './shown.js';
import { ticketStatuses } from './tickets.js';

// Writes an answer to the tenant, or a note for admins.
export function ReplyForm({ id }: { id: string }) {
  const t = useAdminSupport();
  const common = useCommon();
  const [internal, setInternal] = useState(false);
  const [body, setBody] = useState('');
  const [status, setStatus] = useState<TicketStatus>('PENDING');
  const statuses = useOptions(ticketStatuses);
  const files = useChosenFiles((file) => (
    unwrap(client.POST('/v1/admin/tickets/{id}/attachments', { params: { path: { id }, query: { name: file.name } }, ...asFile(file) }))
  ));
  const attachmentIds = files.ids;
  const send = useChange(() => unwrap(client.POST('/v1/admin/tickets/{id}/reply', {
    params: { path: { id } }, body: internal ? { body, internal, attachmentIds } : { body, status, attachmentIds },
  })), { shows: true, done: common('done'), after: () => { setBody(''); files.clear(); } });
  return (
    <Section title={t('write')} aside={(
      <SegmentedControl size="xs" value={internal ? 'note' : 'answer'} onChange={(next) => setInternal(next === 'note')}
        data={[{ value: 'answer', label: t('answer') }, { value: 'note', label: t('internal') }]} aria-label={t('write')} />
    )}>
      <form onSubmit={(event) => { event.preventDefault(); send.mutate(undefined); }}>
        <Stack gap="sm">
          <Textarea label={internal ? t('noteLabel') : t('answerLabel')} description={internal ? t('noteText') : t('answerText')}
            name="body"
            required maxLength={20000} minRows={4} autosize value={body} onChange={(event) => setBody(event.currentTarget.value)} />
          <FilePicker chosen={files} />
          <ProblemNote error={send.error} />
          <Group align="end" justify="space-between">
            {internal ? <Text /> : (
              <Select label={t('statusAfter')} data={statuses} value={status} allowDeselect={false}
                onChange={(next) => setStatus(next as TicketStatus)} />
            )}
            <Button type="submit" loading={send.isPending} disabled={files.blocks} data-testid="send">{internal ? t('addNote') : t('send')}</Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
