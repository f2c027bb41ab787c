import { Button, Group, Menu, ScrollArea, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';

import type { ChatMessage } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { safeLink, time } from '../lib/format.js';
import { MoreButton } from '../lib/more.js';
import { Section, useChange, useConfirm } from '../lib/parts.js';
import { ProblemNote } from '../lib/problem.js';
import { useChat } from '../messages/chat.js';
import { messagesKey, useMessages, useModerator, useRestrictions, useRestrictionsOf, type Restriction } from './chat-data.js';
import { useRestricting } from './chat-restrict.js';
import { Restricted, RestrictionBadge, SlowMode } from './chat-rules.js';
import { useIdentity, useMay } from './identity.js';

interface Author { authorId: string; authorName: string }

interface ChatProps {
  id: string;
  // Sends a message of a user of the console.
  send: (message: Author & { body: string }) => Promise<ChatMessage>;
  // Stands in place of the field for a message if users of the console can't write here.
  closed?: string;
}

// The messages of a channel, and its moderation. The channel may be that of a stream. A user of the console writes under the own name.
export function Chat({ id, send, closed }: ChatProps) {
  const t = useChat();
  const may = useMay();
  const { user } = useIdentity();
  const list = useMessages(id);
  const moderation = useRestrictions(id);
  const { messages } = list;
  const { restrictions, error } = useRestrictionsOf(id, list.authors);
  const { items, dialog } = useRestricting(id, restrictions);
  const nameOf = (userId: string) => messages?.findLast(({ authorId }) => authorId === userId)?.authorName ?? userId;
  return (
    <Section title={t('chat')} aside={<SlowMode id={id} />}>
      <ProblemNote error={list.error} onRetry={() => void list.refetch()} />
      <ProblemNote error={error} />
      {messages?.length === 0 && <Text size="sm" c="dimmed">{t('noChat')}</Text>}
      <MessageScroll last={messages?.at(-1)?.id}>
        {list.hasNextPage && <Group justify="center"><MoreButton list={list} /></Group>}
        {messages?.map((message) => (
          <Message key={message.id} channel={id} message={message} own={message.authorId === user?.id} items={items}
            restrictions={restrictions.filter(({ userId }) => userId === message.authorId)} />
        ))}
      </MessageScroll>
      {closed && may('chat:write') && <Text size="sm" c="dimmed" mt="sm">{closed}</Text>}
      {!closed && user && may('chat:write') && <Write id={id} author={{ authorId: user.id, authorName: user.name }} send={send} />}
      <Restricted id={id} list={moderation} nameOf={nameOf} />
      {dialog}
    </Section>
  );
}

const nearEndPx = 40;

// Shows the newest message when one comes, unless the user has scrolled to older ones.
function MessageScroll({ last, children }: { last: string | undefined; children: ReactNode }) {
  const t = useChat();
  const viewport = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current) viewport.current?.scrollTo({ top: viewport.current.scrollHeight });
  }, [last]);
  return (
    <ScrollArea.Autosize mah={360} viewportRef={viewport} viewportProps={{ tabIndex: 0, 'aria-label': t('chat'), role: 'group' }}
      onScrollPositionChange={({ y }) => {
        const at = viewport.current;
        if (at) atEnd.current = at.scrollHeight - at.clientHeight - y < nearEndPx;
      }}>
      <Stack gap="xs">{children}</Stack>
    </ScrollArea.Autosize>
  );
}

interface MessageProps {
  channel: string;
  message: ChatMessage;
  own: boolean;
  restrictions: Restriction[];
  items: ReturnType<typeof useRestricting>['items'];
}

function Message({ channel, message, own, restrictions, items }: MessageProps) {
  const t = useChat();
  const by = useModerator();
  const confirm = useConfirm();
  const { authorId, authorName, body, createdAt, editedAt, redacted, attachments } = message;
  const remove = useChange(() => unwrap(client.DELETE('/v1/me/channels/{id}/messages/{messageId}', {
    params: { path: { id: channel, messageId: message.id } },
  })), { touches: [messagesKey(channel)] });
  return (
    <Group justify="space-between" gap="xs" wrap="nowrap" align="start">
      <div>
        <Group gap={6}>
          <Text size="sm" className="wrap">
            <b>{authorName}</b> <Text span size="xs" c="dimmed">{time(createdAt)}{editedAt && !redacted && ` · ${t('edited')}`}</Text>
          </Text>
          {restrictions.map((one) => <RestrictionBadge key={one.kind} of={one} />)}
        </Group>
        {redacted ? <Text size="sm" c="dimmed" fs="italic">{t('deleted')}</Text> : <Text size="sm" className="prose">{body}</Text>}
        {attachments?.map(({ url, name }) => {
          const href = safeLink(url);
          return href && (
            <Text key={url} size="sm" className="wrap">
              <a className="link" href={href} target="_blank" rel="noreferrer">{name ?? url}</a>
            </Text>
          );
        })}
      </div>
      {by && !(redacted && own) && (
        <Menu position="bottom-end">
          <Menu.Target>
            <Button size="compact-xs" variant="default" flex="none" loading={remove.isPending}
              aria-label={t('actionsOn', { name: authorName })}>…</Button>
          </Menu.Target>
          <Menu.Dropdown>
            {!redacted && (
              <Menu.Item color="var(--mantine-color-error)"
                onClick={() => confirm(t('remove'), t('removeText'), () => remove.mutate(undefined))}>
                {t('remove')}
              </Menu.Item>
            )}
            {!own && items({ userId: authorId, name: authorName })}
          </Menu.Dropdown>
        </Menu>
      )}
    </Group>
  );
}

// The field is empty as soon as its text is on its way, so the next message can be typed. A text that was refused comes back.
function Write({ id, author, send }: { id: string; author: Author; send: ChatProps['send'] }) {
  const t = useChat();
  const [body, setBody] = useState('');
  const change = useChange((text: string) => send({ ...author, body: text }), { shows: true, touches: [messagesKey(id)] });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (change.isPending || body.trim() === '') return;
    change.mutate(body, { onError: () => setBody((typed) => (typed === '' ? body : `${body} ${typed}`)) });
    setBody('');
  };
  return (
    <form onSubmit={submit}>
      <Group gap="xs" mt="sm" align="end">
        <TextInput label={t('message')} description={t('asYou', { name: author.authorName })} name="chat" required maxLength={4000} flex={1}
          value={body} onChange={(event) => setBody(event.currentTarget.value)} />
        <Button type="submit" loading={change.isPending} disabled={body.trim() === ''} data-testid="send-chat">{t('send')}</Button>
      </Group>
      <ProblemNote error={change.error} />
    </form>
  );
}
