import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import type { Show } from '../gen/api.js';
import type { ApiError } from '../shop/index.js';
import { replayHref } from './address.js';
import { saveCalendar } from './calendar.js';
import { Countdown, usePassed } from './countdown.js';
import { startTime } from './dates.js';
import { Icon, type IconName } from './icons.js';
import { t } from './texts/index.js';

/** A page instead of a show: says what is wrong, and what to do. */
export function Closed({ icon, title, text, children }: { icon: IconName; title: string; text: string; children?: ComponentChildren }): VNode {
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = title;
    head.current?.focus();
  }, [title]);

  return (
    <main class="closed">
      <span class="closed-mark"><Icon name={icon} /></span>
      <h1 ref={head} tabIndex={-1}>{title}</h1>
      <p>{text}</p>
      {children}
    </main>
  );
}

/** The page for a show that the server refuses. `expired`: the token's time is over. */
export function Refused({ error, expired, replay, kind }: { error: ApiError; expired: boolean; replay: string | null; kind: 'room' | 'vod' }): VNode {
  const instead = replay ? <a class="button primary" href={replayHref(replay)}>{t.openReplayInstead}</a> : null;
  if (expired || error.status === 401) return <Closed icon="clock" title={t.expiredLinkTitle} text={t.expiredLinkText}>{instead}</Closed>;
  if (error.status === 403) return <Closed icon="lock" title={t.bannedTitle} text={t.bannedText} />;
  if (error.status === 404 || error.status === 400) {
    return <Closed icon="alert" title={t.unknownTitle} text={kind === 'vod' ? t.unknownReplayText : t.unknownText} />;
  }

  return (
    <Closed icon="alert" title={t.failedTitle} text={t.problems.network}>
      <button type="button" class="primary" onClick={() => location.reload()}>{t.retry}</button>
    </Closed>
  );
}

/** The waiting screen before a show. */
export function Before({ show, browse }: { show: Show; browse: (() => void) | undefined }): VNode {
  const { scheduledAt } = show;

  return (
    <div class="between">
      <h1><bdi>{show.name}</bdi></h1>
      {scheduledAt ? <Planned show={show} start={scheduledAt} /> : <p>{t.noTime}</p>}
      {browse ? <button type="button" class="plain" onClick={browse}>{t.previewProducts}</button> : null}
    </div>
  );
}

function Planned({ show, start }: { show: Show; start: string }): VNode {
  const passed = usePassed(start);
  if (passed) return <p class="soon">{t.starting}</p>;

  return (
    <>
      <p class="start-time">{startTime(start)}</p>
      <p class="start-left"><span>{t.startsIn}</span> <Countdown until={start} /></p>
      <button
        type="button" class="primary"
        onClick={() => saveCalendar({ id: show.id, title: `${show.name} · ${show.brand.name}`, start, url: `${location.origin}${location.pathname}?room=${encodeURIComponent(show.id)}` })}
      >
        <Icon name="calendar" /> {t.addToCalendar}
      </button>
    </>
  );
}

/** The screen after a show: with the replay, or until there is one. */
export function After({ show, browse }: { show: Show; browse: (() => void) | undefined }): VNode {
  return (
    <div class="between">
      <h1>{t.thanks}</h1>
      <p>{show.products.length > 0 && show.canBuy ? t.thanksText : ''}</p>
      {show.replayId ? <a class="button primary" href={replayHref(show.replayId)}><Icon name="play" filled /> {t.watchReplay}</a> : null}
      {browse ? <button type="button" class="plain" onClick={browse}>{t.previewProducts}</button> : null}
    </div>
  );
}
