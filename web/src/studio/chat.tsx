import type { VNode } from 'preact';
import { useState } from 'preact/hooks';

import { Composer } from '../shopping/chat.js';
import { unmarked } from '../shopping/isolate.js';
import { t } from '../shopping/texts/index.js';
import { IconButton, SheetFrame } from '../shopping/ui.js';
import type { ChatLine } from '../shop/index.js';
import { useAct } from './act.js';
import { useStudio } from './studio.js';
import { s } from './texts/index.js';

const timeoutSec = 300;

/** The chat, newest message first, with a menu to moderate each one. */
export function Chat(): VNode {
  const { show } = useStudio();
  const [chosen, choose] = useState<ChatLine>();
  const { ticket, state } = show;
  const name = ticket && ticket.displayName !== ticket.userId ? ticket.displayName : undefined;
  const lines = [...(state?.chat ?? [])].reverse();

  return (
    <>
      <Composer name={name} say={(body, as) => show.say(body, as)} />
      <ul class="studio-chat" tabIndex={0} aria-label={t.messages}>
        {lines.length === 0 ? <li class="empty">{t.noMessages}</li> : null}
        {lines.map((line) => (
          <li key={line.id}>
            <p><bdi class="author">{unmarked(line.authorName)}</bdi> {line.body === null ? <span class="deleted">{t.deleted}</span> : <bdi>{unmarked(line.body)}</bdi>}</p>
            {line.authorId === ticket?.userId && line.body === null ? null : <IconButton name="chevron" label={s.moderate(line.authorName)} act={() => choose(line)} />}
          </li>
        ))}
      </ul>
      {chosen ? <ModerateSheet line={chosen} close={() => choose(undefined)} own={chosen.authorId === ticket?.userId} /> : null}
    </>
  );
}

function ModerateSheet({ line, own, close }: { line: ChatLine; own: boolean; close: () => void }): VNode {
  const { host, notify } = useStudio();
  const { busy, act } = useAct();
  const moderate = (run: () => Promise<unknown>) => async (): Promise<void> => {
    if (!(await act(run))) return;
    notify(s.done);
    close();
  };

  return (
    <SheetFrame title={line.authorName} close={close} narrow>
      {line.body === null ? null : <p><bdi>{line.body}</bdi></p>}
      <div class="studio-form">
        {line.body === null ? null : <button type="button" disabled={busy} onClick={moderate(() => host.deleteMessage(line.id))}>{s.delete}</button>}
        {own ? null : <button type="button" disabled={busy} onClick={moderate(() => host.timeout(line.authorId, timeoutSec))}>{s.timeout}</button>}
        {own ? null : <button type="button" class="danger" disabled={busy} onClick={moderate(() => host.ban(line.authorId))}>{s.ban}</button>}
      </div>
    </SheetFrame>
  );
}
