// The row of figures below the picture, brought up to date twice a second.
import Hls from './hls.mjs';

const everyMs = 500;
const windowMs = 5000; // the bitrate is that of the last five seconds

export class Figures {
  #video;
  #cells;
  #hls = null;
  #loads = []; // { at: ms, bytes } of parts and segments, oldest first
  #since = 0; // ms, when counting of bytes began

  constructor(video, byId) {
    this.#video = video;
    this.#cells = Object.fromEntries(
      ['latency', 'buffer', 'resolution', 'bitrate', 'dropped'].map((id) => [id, byId(id)]),
    );
    setInterval(() => this.#show(), everyMs);
  }

  /** reset forgets the last stream; hls is the next one's engine or null. */
  reset(hls) {
    this.#hls = hls;
    this.#loads = [];
    this.#since = 0;
    // The payload itself has gone to the worker by now; its size is in stats.
    hls?.on(Hls.Events.FRAG_LOADED, (_, { part, frag }) => this.#count((part ?? frag).stats.loaded));
    this.#show();
  }

  // The first load only starts the clock: its media is from before.
  #count(bytes) {
    const now = performance.now();
    if (this.#since) this.#loads.push({ at: now, bytes });
    else this.#since = now;
  }

  #show() {
    const { latency, buffer, resolution, bitrate, dropped } = this.#cells;
    const video = this.#video;
    const live = this.#hls?.levels?.[this.#hls.currentLevel]?.details?.live ?? false;
    const playing = video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA;
    latency.textContent = live && playing ? `${this.#hls.latency.toFixed(1)} s` : '–';
    buffer.textContent = playing ? `${this.#ahead().toFixed(1)} s` : '–';
    resolution.textContent = video.videoWidth ? `${video.videoWidth} × ${video.videoHeight}` : '–';
    bitrate.textContent = this.#rate();
    dropped.textContent = playing ? String(video.getVideoPlaybackQuality().droppedVideoFrames) : '–';
  }

  #ahead() {
    const { buffered, currentTime } = this.#video;
    for (let i = 0; i < buffered.length; i++) {
      if (buffered.start(i) <= currentTime && currentTime <= buffered.end(i)) return buffered.end(i) - currentTime;
    }
    return 0;
  }

  #rate() {
    const now = performance.now();
    this.#loads = this.#loads.filter(({ at }) => now - at < windowMs);
    const ms = Math.min(now - this.#since, windowMs);
    if (!this.#loads.length || ms < 2000) return '–';
    const bits = 8 * this.#loads.reduce((sum, { bytes }) => sum + bytes, 0);
    return `${(bits / ms / 1000).toFixed(1)} Mbit/s`;
  }
}
