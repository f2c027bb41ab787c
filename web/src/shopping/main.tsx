// The shopping page: /scenarios/shopping/?room=<stream>&token=<participant token>, or ?vod=<recording>.
import { type VNode, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { call, readTicket } from '../shop/index.js';
import type { Show } from '../gen/api.js';
import { type Address, readAddress, replayHref } from './address.js';
import { connectParent } from './embedding.js';
import { Live } from './live.js';
import { reportReturn } from './pay.js';
import { Recorded } from './replay.js';
import { Closed } from './screens.js';
import { t } from './texts/index.js';

/** The page for the address: a show, a replay, or an explanation. */
function Page({ address }: { address: Address }): VNode {
  const { kind, id, token } = address;
  if (!id) return <Closed icon="alert" title={t.noTokenTitle} text={t.noTokenText} />;
  if (kind === 'vod') return <Recorded address={address} />;
  if (!token) return <WithoutToken id={id} title={t.noTokenTitle} text={t.noTokenText} />;
  const ticket = readTicket(token);
  if (!ticket) return <WithoutToken id={id} title={t.noTokenTitle} text={t.noTokenText} />;
  if (ticket.room !== id) return <WithoutToken id={id} title={t.otherRoomTitle} text={t.otherRoomText} />;

  return <Live address={address} token={token} />;
}

/** Explains the problem. Offers the replay of the show, if it is public. */
function WithoutToken({ id, title, text }: { id: string; title: string; text: string }): VNode {
  const [replay, setReplay] = useState<string | null>(null);
  useEffect(() => {
    call<Show>(`/v1/shows/${encodeURIComponent(id)}`).then(({ replayId }) => setReplay(replayId), () => undefined);
  }, [id]);

  return (
    <Closed icon="lock" title={title} text={text}>
      {replay ? <a class="button primary" href={replayHref(replay)}>{t.openReplayInstead}</a> : null}
    </Closed>
  );
}

async function start(): Promise<void> {
  document.documentElement.lang = t.language;
  const root = document.getElementById('page');
  if (!root) return;
  const address = readAddress(await connectParent());
  // A payment window of a frame has no token, because it shares no storage with the frame.
  const isPayment = address.returned !== undefined && address.kind === 'room' && address.token === undefined;
  const closes = address.returned !== undefined && ((await reportReturn(address.id)) || isPayment);
  render(closes ? <Closed icon="check" title={t.order} text={t.closeWindow} /> : <Page address={address} />, root);
}

void start();
