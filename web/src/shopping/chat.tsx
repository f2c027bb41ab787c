import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { type ChatLine, asApiError } from '../shop/index.js';
import { buyer, rememberBuyer } from './buyer.js';
import { Icon } from './icons.js';
import { unmarked } from './isolate.js';
import { explain } from './problems.js';
import { t } from './texts/index.js';
import { IconButton } from './ui.js';

const nearEndPx = 60;

/** A message as both kinds of chat show it. */
export type Line = Pick<ChatLine, 'id' | 'authorName' | 'body'> & { authorId?: string };

/** The list of messages. It follows new ones unless the viewer has scrolled up. */
export function Messages({ lines, own, empty }: { lines: readonly Line[]; own?: string | undefined; empty: string }): VNode {
  const list = useRef<HTMLOListElement>(null);
  const follows = useRef(true);
  const last = lines.at(-1)?.id;
  useLayoutEffect(() => {
    if (follows.current && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [last, lines.length]);
  useEffect(() => {
    const element = list.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => {
      if (follows.current) element.scrollTop = element.scrollHeight;
    });
    observer.observe(element);

    return () => observer.disconnect();
  }, []);

  return (
    <ol
      ref={list} class="messages" tabIndex={0} aria-label={t.messages}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => (follows.current = scrollHeight - scrollTop - clientHeight < nearEndPx)}
    >
      {lines.length === 0 && empty ? <li class="none">{empty}</li> : null}
      {lines.map(({ id, authorId, authorName, body }) => (
        <li key={id} class={own !== undefined && authorId === own ? 'own' : undefined}>
          <bdi class="author" data-hue={hue(authorName)}>{unmarked(authorName)}</bdi> {body === null ? <span class="deleted">{t.deleted}</span> : <bdi class="body">{unmarked(body)}</bdi>}
        </li>
      ))}
    </ol>
  );
}

/** hue returns one of 6 colours for a name. */
function hue(name: string): number {
  return [...name].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) >>> 0, 7) % 6;
}

/** The field for a message. A viewer without a name is asked for one. */
export function Composer({ name: given, say }: { name: string | undefined; say: (body: string, name: string) => Promise<void> }): VNode {
  const [text, setText] = useState('');
  const [name, setName] = useState(given ?? buyer().name);
  const [asksName, setAsksName] = useState(false);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState('');
  const nameField = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (asksName) nameField.current?.focus();
  }, [asksName]);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const body = text.trim();
    if (!body || busy) return;
    if (!name.trim()) return setAsksName(true);
    if (!given) rememberBuyer({ name: name.trim() });
    setBusy(true);
    setTrouble('');
    try {
      await say(body, name.trim());
      setText('');
      setAsksName(false);
    } catch (error) {
      setTrouble(explain(asApiError(error)));
    } finally {
      setBusy(false);
    }
  };

  return (
    <form class="composer" onSubmit={(event) => void send(event)}>
      {trouble ? <p class="trouble" role="alert">{trouble}</p> : null}
      {asksName ? (
        <input ref={nameField} class="chat-name" type="text" maxLength={120} autoComplete="nickname" aria-label={t.chatName} placeholder={t.chatName} value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      ) : null}
      <div class="composer-line">
        <input
          type="text" maxLength={4000} autoComplete="off" enterKeyHint="send" aria-label={t.write} placeholder={t.write} value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        {text.trim() ? <button type="submit" class="round primary" aria-label={t.send} title={t.send} disabled={busy}><Icon name="send" /></button> : null}
      </div>
    </form>
  );
}

/** The button for hearts. */
export function HeartButton({ send }: { send: () => void }): VNode {
  return <IconButton name="heart" label={t.heart} act={send} kind="heart-button" filled />;
}
