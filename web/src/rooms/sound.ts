type Sink = HTMLAudioElement & { setSinkId?: (id: string) => Promise<void> };

/** Plays every audio track that comes. */
export class Sound {
  readonly #playing = new Map<string, Sink>();
  readonly #unheard = new Set<string>();
  #speaker = '';

  /** @param silenced is called when the browser wants a click first */
  constructor(private readonly silenced: () => void) {}

  /** Plays the track, or nothing under that name any more. */
  play(id: string, media: MediaStreamTrack | undefined): void {
    this.#stop(id);
    if (!media) {
      this.#unheard.delete(id);

      return;
    }
    const element: Sink = new Audio();
    this.#playing.set(id, element);
    element.srcObject = new MediaStream([media]);
    element.muted = this.#unheard.has(id);
    if (this.#speaker) void element.setSinkId?.(this.#speaker).catch(() => undefined); // it was unplugged: the default one
    element.play().catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'NotAllowedError') this.silenced();
    });
  }

  /** Plays the track, or keeps it silent, also before it comes. */
  setHeard(id: string, heard: boolean): void {
    if (heard) this.#unheard.delete(id);
    else this.#unheard.add(id);
    const element = this.#playing.get(id);
    if (element) element.muted = !heard;
  }

  /** Plays what was held back. */
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
