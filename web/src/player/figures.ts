// The row of figures below the picture, updated twice a second.
import Hls from 'hls.js';

const everyMs = 500;
const windowMs = 5000; // the bitrate is that of the media loaded in the last five seconds

type Name = 'latency' | 'buffer' | 'resolution' | 'bitrate' | 'dropped';

/** A part or segment that was loaded. */
interface Load {
  at: number; // ms
  bytes: number;
  seconds: number;
  kind: string;
}

export class Figures {
  #hls: Hls | null = null;
  #loads: Load[] = []; // oldest first

  /** @param latency returns how many seconds the picture is behind the live edge; undefined if the stream isn't live */
  constructor(
    private readonly video: HTMLVideoElement,
    private readonly cells: Record<Name, HTMLElement>,
    private readonly latency: () => number | undefined,
  ) {
    setInterval(() => this.#show(), everyMs);
  }

  /** Deletes the last stream's data; hls is the next stream's engine, or null. */
  reset(hls: Hls | null): void {
    this.#hls = hls;
    this.#loads = [];
    // The payload has been transferred to the worker by now; its size is in stats.
    hls?.on(Hls.Events.FRAG_LOADED, (_, { part, frag }) => {
      const { stats, duration } = part ?? frag;
      this.#loads.push({ at: performance.now(), bytes: stats.loaded, seconds: duration, kind: frag.type });
    });
    this.#show();
  }

  #show(): void {
    const { latency, buffer, resolution, bitrate, dropped } = this.cells;
    const video = this.video;
    const playing = video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA;
    const behind = playing ? this.latency() : undefined;
    latency.textContent = behind === undefined ? '–' : `${behind.toFixed(1)} s`;
    buffer.textContent = playing ? `${this.#ahead().toFixed(1)} s` : '–';
    resolution.textContent = video.videoWidth ? `${video.videoWidth} × ${video.videoHeight}` : '–';
    bitrate.textContent = this.#rate();
    dropped.textContent = playing ? String(video.getVideoPlaybackQuality().droppedVideoFrames) : '–';
    if (latency.parentElement && this.#hls?.latestLevelDetails) latency.parentElement.hidden = !this.#hls.latestLevelDetails.live;
  }

  #ahead(): number {
    const { buffered, currentTime } = this.video;
    for (let i = 0; i < buffered.length; i++) {
      if (buffered.start(i) <= currentTime && currentTime <= buffered.end(i)) return buffered.end(i) - currentTime;
    }

    return 0;
  }

  // Sound may be in separate files, so the rates of both kinds are added.
  #rate(): string {
    const oldest = performance.now() - windowMs;
    this.#loads = this.#loads.filter(({ at }) => at > oldest);
    let rate = 0;
    for (const kind of ['main', 'audio']) {
      const loads = this.#loads.filter((load) => load.kind === kind);
      const bytes = loads.reduce((sum, load) => sum + load.bytes, 0);
      const seconds = loads.reduce((sum, load) => sum + load.seconds, 0);
      if (seconds > 0) rate += (8 * bytes) / seconds;
    }

    return rate ? `${(rate / 1e6).toFixed(1)} Mbit/s` : '–';
  }
}
