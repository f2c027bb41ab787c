type Sink = HTMLAudioElement & { setSinkId?: (id: string) => Promise<void> };

/** Plays the received audio tracks. */
export class Sound {
  readonly #playing = new Map<string, Sink>();
  readonly #muted = new Set<string>();
  #speaker = '';

  /** @param silenced is called when the browser blocks sound until the user clicks */
  constructor(private readonly silenced: () => void) {}

  /** Plays the new media of a track; undefined stops the track. */
  play(id: string, media: MediaStreamTrack | undefined): void {
    this.#stop(id);
    if (!media) {
      this.#muted.delete(id);

      return;
    }
    const element: Sink = new Audio();
    this.#playing.set(id, element);
    element.srcObject = new MediaStream([media]);
    element.muted = this.#muted.has(id);
    if (this.#speaker) void element.setSinkId?.(this.#speaker).catch(() => undefined); // it was unplugged: the default one plays
    element.play().catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'NotAllowedError') this.silenced();
    });
  }

  /** Plays or silences a track. It may be called before the track's media has arrived. */
  setHeard(id: string, heard: boolean): void {
    if (heard) this.#muted.delete(id);
    else this.#muted.add(id);
    const element = this.#playing.get(id);
    if (element) element.muted = !heard;
  }

  /** Plays the sound that the browser blocked. */
  async start(): Promise<void> {
    await Promise.all([...this.#playing.values()].map((element) => element.play()));
  }

  /** Plays on another loudspeaker. */
  async use(deviceId: string): Promise<void> {
    this.#speaker = deviceId;
    await Promise.all([...this.#playing.values()].map((element) => element.setSinkId?.(deviceId)));
  }

  close(): void {
    for (const id of [...this.#playing.keys()]) this.#stop(id);
  }

  #stop(id: string): void {
    const element = this.#playing.get(id);
    if (!element) return;
    element.srcObject = null;
    this.#playing.delete(id);
  }
}
