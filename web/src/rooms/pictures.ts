import type { Views } from './views.js';

/** The elements that show tracks, and the size at which each is sent. */
export class Pictures {
  readonly #elements = new Map<HTMLVideoElement, string>();

  constructor(private readonly views: Views) {}

  /** Shows a track in the element once its media is there; undefined for not yet. */
  attach(trackId: string, element: HTMLVideoElement, media: MediaStreamTrack | undefined): void {
    if (this.#elements.get(element) === trackId) return;
    this.detach(element);
    this.#elements.set(element, trackId);
    this.views.observe(element, trackId);
    show(element, media);
  }

  /** Takes the picture out of the element. */
  detach(element: HTMLVideoElement): void {
    if (!this.#elements.delete(element)) return;
    this.views.unobserve(element);
    element.srcObject = null;
  }

  /** Takes a track out of all elements, or every track. */
  detachAll(trackId?: string): void {
    for (const [element, shown] of [...this.#elements]) if (trackId === undefined || shown === trackId) this.detach(element);
  }

  /** The track's media has come or gone. */
  changed(trackId: string, media: MediaStreamTrack | undefined): void {
    for (const [element, shown] of this.#elements) if (shown === trackId) show(element, media);
  }
}

function show(element: HTMLVideoElement, media: MediaStreamTrack | undefined): void {
  element.srcObject = media ? new MediaStream([media]) : null;
  element.muted = element.playsInline = element.autoplay = true;
}
