import type { VNode } from 'preact';
import { useState } from 'preact/hooks';

import type { ShowDrop } from '../gen/api.js';
import { Countdown, usePassed } from '../shopping/countdown.js';
import { t } from '../shopping/texts/index.js';
import { Field, SheetFrame } from '../shopping/ui.js';
import { useAct } from './act.js';
import { useStudio } from './studio.js';
import { s } from './texts/index.js';

/** The discounts that run, and the button for a new one. */
export function Drops(): VNode {
  const { show, hosts } = useStudio();
  const [asks, ask] = useState(false);
  const { drops } = show.state!.show;

  return (
    <>
      {drops.length === 0 ? <p class="empty">{s.noDrops}</p> : null}
      <ul class="studio-list">{drops.map((drop) => <Row key={drop.code} drop={drop} />)}</ul>
      {hosts ? <button type="button" onClick={() => ask(true)}>{s.newDrop}</button> : null}
      {asks ? <DropSheet close={() => ask(false)} /> : null}
    </>
  );
}

function Row({ drop }: { drop: ShowDrop }): VNode | null {
  if (usePassed(drop.endsAt)) return null;

  return (
    <li>
      <div class="studio-text">
        <h3>{drop.code}</h3>
        <p>{t.dropOff(drop.percentOff)} · <Countdown until={drop.endsAt} /></p>
      </div>
    </li>
  );
}

function DropSheet({ close }: { close: () => void }): VNode {
  const { host, show } = useStudio();
  const { busy, act } = useAct();
  const [code, setCode] = useState('');
  const [percent, setPercent] = useState(20);
  const [minutes, setMinutes] = useState(5);
  const [most, setMost] = useState('');
  const drop = async (event: Event): Promise<void> => {
    event.preventDefault();
    const dropped = await act((key) => host.drop({ code, percentOff: percent, durationSec: minutes * 60, maxRedemptions: most ? Number(most) : null }, key));
    if (!dropped) return;
    void show.load();
    close();
  };

  return (
    <SheetFrame title={s.newDrop} close={close} narrow>
      <form class="studio-form" onSubmit={(event) => void drop(event)}>
        <Field label={s.code} hint={s.codeHint}>
          {({ id, describedBy }) => (
            <input
              id={id} type="text" required pattern="[A-Za-z0-9_\-]{3,40}" autocapitalize="characters" autoComplete="off" spellcheck={false} aria-describedby={describedBy}
              value={code} onInput={({ currentTarget }) => setCode(currentTarget.value)}
            />
          )}
        </Field>
        <Field label={s.percent}>
          {({ id }) => <input id={id} type="number" min={1} max={100} required value={percent} onInput={({ currentTarget }) => setPercent(currentTarget.valueAsNumber)} />}
        </Field>
        <Field label={s.minutes}>
          {({ id }) => <input id={id} type="number" min={1} max={1440} required value={minutes} onInput={({ currentTarget }) => setMinutes(currentTarget.valueAsNumber)} />}
        </Field>
        <Field label={`${s.mostUses} (${s.optional})`}>
          {({ id }) => <input id={id} type="number" min={1} max={1000000} value={most} onInput={({ currentTarget }) => setMost(currentTarget.value)} />}
        </Field>
        <button type="submit" class="primary wide" disabled={busy}>{s.dropIt}</button>
      </form>
    </SheetFrame>
  );
}
