import { Alert, Button, Code, Group, Modal, ScrollArea, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';

import type { Capture } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { bytes, time } from '../lib/format.js';
import { Empty, FormModal, Heading, useChange } from '../lib/parts.js';
import { CopyText, fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useHooks } from '../messages/hooks.js';
import { useMay } from './identity.js';

// The path behind the capture address.
function shortPath({ path, query }: Capture, token: string): string {
  const rest = path.slice(path.indexOf(token) + token.length) || '/';
  return query ? `${rest}?${query}` : rest;
}

// Requests to a capture address, read again every 3 seconds.
export default function Captures() {
  const { token = '' } = useParams({ strict: false }) as { token?: string };
  const t = useHooks();
  const common = useCommon();
  const may = useMay();
  const [shown, setShown] = useState<Capture | null>(null);
  const [replayed, setReplayed] = useState<Capture | null>(null);
  const urls = api.useQuery('get', '/v1/me/webhook-tester');
  const url = urls.data?.find((row) => row.token === token)?.url;
  const list = useCursorList<Capture>(['captures', token], (query, signal) => (
    client.GET('/v1/me/webhook-tester/{token}/captures', { params: { path: { token }, query }, signal })
  ), 3000);
  return (
    <Stack gap={0}>
      <Link className="link" to="/webhook-tester">{t('allCaptures')}</Link>
      <Heading title={t('captures')} />
      {url && <Group gap="xs" mb="md"><Code>{url}</Code><CopyText text={url} /></Group>}
      <CursorList<Capture> name="requests" label={t('captures')} list={list}
        empty={<Empty text={t('noCaptures')} />}
        columns={[
          { key: 'at', title: t('at'), value: ({ capturedAt }) => capturedAt, render: ({ capturedAt }) => time(capturedAt) },
          { key: 'method', title: t('method'), value: ({ method }) => method },
          { key: 'name', title: t('path'), value: (row) => shortPath(row, token), wide: true },
          { key: 'size', title: t('size'), value: ({ bodyBytes }) => bodyBytes, render: ({ bodyBytes }) => bytes(bodyBytes), wide: true },
          { key: 'from', title: t('from'), value: ({ ip }) => ip, wide: true },
        ]}
        actions={(row) => (
          <Group gap={4} justify="end" wrap="nowrap">
            <Button size="compact-xs" variant="default" onClick={() => setShown(row)}>{t('show')}</Button>
            {may('webhooks:write') && <Button size="compact-xs" variant="default" onClick={() => setReplayed(row)}>{t('replay')}</Button>}
          </Group>
        )} />
      <Modal opened={shown !== null} onClose={() => setShown(null)} size="lg" title={shown ? `${shown.method} ${shortPath(shown, token)}` : ''} closeButtonProps={{ 'aria-label': common('close') }}>
        {shown && <Request capture={shown} />}
      </Modal>
      {replayed && <Replay token={token} capture={replayed} close={() => setReplayed(null)} />}
    </Stack>
  );
}

function Request({ capture: { headers, body, bodyBase64 } }: { capture: Capture }) {
  const common = useCommon();
  const t = useHooks();
  return (
    <Stack gap="xs" className="wrap">
      <Title order={3} size="h6">{t('headers')}</Title>
      <Table className="wrap" layout="fixed">
        <Table.Thead><Table.Tr><Table.Th>{common('name')}</Table.Th><Table.Th>{t('value')}</Table.Th></Table.Tr></Table.Thead>
        <Table.Tbody>
          {headers.map(({ name, value }, index) => <Table.Tr key={`${name}-${index}`}><Table.Td>{name}</Table.Td><Table.Td>{value}</Table.Td></Table.Tr>)}
        </Table.Tbody>
      </Table>
      <Title order={3} size="h6">{t('body')}</Title>
      {bodyBase64 && <Text size="sm">{t('bodyBinary')}</Text>}
      {body ? <BodyText text={body} label={t('body')} /> : <Text size="sm" c="dimmed">{t('noBody')}</Text>}
    </Stack>
  );
}

const indent = 2;

// A body, indented if it is JSON.
export function BodyText({ text, label }: { text: string; label: string }) {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, indent);
  } catch {
    // It isn't JSON.
  }
  return (
    <ScrollArea.Autosize mah={320} viewportProps={{ tabIndex: 0, 'aria-label': label, role: 'group' }}>
      <Code block className="prose">{shown}</Code>
    </ScrollArea.Autosize>
  );
}

function Replay({ token, capture, close }: { token: string; capture: Capture; close: () => void }) {
  const t = useHooks();
  const [url, setUrl] = useState('');
  const path = { token, captureId: capture.id };
  const send = useChange(() => unwrap(client.POST('/v1/me/webhook-tester/{token}/captures/{captureId}/replay', { params: { path }, body: { url } })), { shows: true });
  const answer = send.data;
  return (
    <FormModal title={t('replay')} open close={close} submit={() => send.mutate(undefined)} busy={send.isPending} error={send.error} action={t('replayAction')}>
      <Text size="sm">{t('replayText')}</Text>
      <TextInput label={t('address')} name="url" type="url" required placeholder="https://example.com/events" value={url} data-autofocus
        error={fieldErrors(send.error).url} onChange={(event) => setUrl(event.currentTarget.value)} />
      {answer && (
        <Alert variant="outline" color={answer.error ? 'red' : 'brand'} role="status"
          title={answer.error ? t('replayFailed', { error: answer.error }) : t('replayed', { status: answer.status ?? '–', ms: answer.durationMs })}>
          {answer.body && !answer.bodyBase64 && <BodyText text={answer.body} label={t('answer')} />}
        </Alert>
      )}
    </FormModal>
  );
}
