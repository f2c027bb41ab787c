import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

import type { ShowStreamKey } from '../gen/api.js';
import { Room, capture } from '../rooms/index.js';
import { HlsPlayback, type Playback, type PlaybackState } from '../shopping/playback.js';
import { Stage } from '../shopping/stage.js';
import { SheetFrame } from '../shopping/ui.js';
import { useAct } from './act.js';
import { useStudio } from './studio.js';
import { s } from './texts/index.js';

/** The state of this browser's camera. `preview`: only the host sees it. */
type Camera = 'off' | 'preview' | 'starting' | 'live';

interface Media {
  video: MediaStreamTrack;
  audio: MediaStreamTrack;
}

async function openDevices(): Promise<Media> {
  const video = await capture('camera');
  try {
    return { video, audio: await capture('microphone') };
  } catch (error) {
    video.stop();
    throw error;
  }
}

/** Publishes this browser's camera to the stream's room, which puts the stream on air. */
function useCamera(): { camera: Camera; media: Media | undefined; check: () => void; goLive: () => void; stop: () => void } {
  const { show, token, notify } = useStudio();
  const [camera, setCamera] = useState<Camera>('off');
  const [media, setMedia] = useState<Media>();
  const room = useRef<Room | undefined>(undefined);
  const stop = (): void => {
    room.current?.leave();
    room.current = undefined;
    media?.video.stop();
    media?.audio.stop();
    setMedia(undefined);
    setCamera('off');
  };
  useEffect(() => () => room.current?.leave(), []);
  const check = (): void => {
    openDevices().then((opened) => {
      setMedia(opened);
      setCamera('preview');
    }, () => notify(s.cameraFailed));
  };
  const goLive = (): void => {
    if (!media) return;
    setCamera('starting');
    const entered = new Room({ url: `${location.origin.replace(/^http/, 'ws')}/sfu`, token, room: show.api.id });
    room.current = entered;
    entered.on('closed', () => {
      if (room.current !== entered) return;
      notify(s.roomFailed);
      stop();
    });
    entered.connect()
      .then(() => Promise.all([entered.publish('camera', media.video), entered.publish('microphone', media.audio)]))
      .then(() => setCamera('live'), () => {
        if (room.current === entered) notify(s.roomFailed);
        stop();
      });
  };

  return { camera, media, check, goLive, stop };
}

/** The picture, and the buttons to start and end the broadcast. */
export function Broadcast(): VNode {
  const { show, hosts } = useStudio();
  const [dialog, open] = useState<'encoder' | 'end'>();
  const { camera, media, check, goLive, stop } = useCamera();
  const data = show.state!.show;
  const onAir = data.status === 'LIVE' || data.status === 'RECONNECTING';
  const plays = useMemo(() => onAir && camera === 'off'
    ? (video: HTMLVideoElement, changed: (now: PlaybackState) => void): Playback => {
        video.muted = true;

        return new HlsPlayback(video, { source: async () => (await show.api.playbackUrl()).url, live: true, changed });
      }
    : undefined, [onAir, camera === 'off', show]);

  return (
    <section class="studio-stage" aria-label={s.broadcast}>
      <div class="studio-picture">
        {media ? <Preview media={media} /> : <Stage name={data.name} poster={data.posterUrl} plays={plays}>{() => null}</Stage>}
        <p class={onAir ? 'air on' : 'air'} role="status">{onAir ? s.onAir : s.offAir}</p>
      </div>
      {media ? <p class="hint">{camera === 'live' ? s.liveFromHere : s.preview}</p> : null}
      {hosts ? (
        <div class="studio-buttons">
          {camera === 'off' && !onAir ? <button type="button" class="primary" onClick={check}>{s.checkCamera}</button> : null}
          {camera === 'preview' || camera === 'starting'
            ? <button type="button" class="primary" disabled={camera === 'starting'} onClick={goLive}>{camera === 'starting' ? s.starting : s.goLive}</button> : null}
          {camera === 'live' || camera === 'preview' ? <button type="button" onClick={stop}>{s.stopCamera}</button> : null}
          {camera === 'off' ? <button type="button" onClick={() => open('encoder')}>{s.useEncoder}</button> : null}
          {onAir ? <button type="button" class="danger" onClick={() => open('end')}>{s.endShow}</button> : null}
        </div>
      ) : null}
      {dialog === 'encoder' ? <EncoderSheet close={() => open(undefined)} /> : null}
      {dialog === 'end' ? <EndSheet close={() => open(undefined)} ended={stop} /> : null}
    </section>
  );
}

function Preview({ media }: { media: Media }): VNode {
  const video = useRef<HTMLVideoElement>(null);
  useEffect(() => {
    if (video.current) video.current.srcObject = new MediaStream([media.video]);
  }, [media]);

  return <video ref={video} class="studio-preview" autoPlay muted playsInline aria-label={s.preview} />;
}

/** Makes a stream key, and shows it once with the server's address. */
function EncoderSheet({ close }: { close: () => void }): VNode {
  const { host } = useStudio();
  const { busy, act } = useAct();
  const [made, setMade] = useState<ShowStreamKey>();

  return (
    <SheetFrame title={s.encoderTitle} close={close} narrow>
      <p>{s.encoderText}</p>
      {made ? (
        <>
          <Copied label={s.server} text={made.ingestUrl} />
          <Copied label={s.key} text={made.streamKey} />
        </>
      ) : <button type="button" class="primary wide" disabled={busy} onClick={() => void act(async (key) => setMade(await host.newStreamKey(key)))}>{s.makeKey}</button>}
    </SheetFrame>
  );
}

function Copied({ label, text }: { label: string; text: string }): VNode {
  const { notify } = useStudio();

  return (
    <div class="copied">
      <span class="copied-label">{label}</span>
      <code>{text}</code>
      <button type="button" onClick={() => void navigator.clipboard.writeText(text).then(() => notify(s.copied))}>
        {s.copy}<span class="spoken">: {label}</span>
      </button>
    </div>
  );
}

function EndSheet({ close, ended }: { close: () => void; ended: () => void }): VNode {
  const { host, show, notify } = useStudio();
  const { busy, act } = useAct();
  const end = async (): Promise<void> => {
    if (!(await act(() => host.end()))) return;
    ended();
    notify(s.ended);
    void show.load();
    close();
  };

  return (
    <SheetFrame title={s.endTitle} close={close} narrow>
      <p>{s.endText}</p>
      <div class="studio-buttons">
        <button type="button" onClick={close}>{s.keepOn}</button>
        <button type="button" class="danger" disabled={busy} onClick={() => void end()}>{s.endShow}</button>
      </div>
    </SheetFrame>
  );
}

