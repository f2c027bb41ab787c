import type { Views } from './views.js';

/**
 * The video elements that show tracks. Their sizes go to `Views`, so that the server sends no larger picture
 * than is displayed.
 */
export class Pictures {
  readonly #elements = new Map<HTMLVideoElement, string>();

  constructor(private readonly views: Views) {}

  /** Shows a track in the element. media is undefined until it has arrived. */
  attach(trackId: string, element: HTMLVideoElement, media: MediaStreamTrack | undefined): void {
    if (this.#elements.get(element) === trackId) return;
    this.detach(element);
    this.#elements.set(element, trackId);
    this.views.observe(element, trackId);
    show(element, media);
  }

  /** Stops showing a track in the element. */
  detach(element: HTMLVideoElement): void {
    if (!this.#elements.delete(element)) return;
    this.views.unobserve(element);
    element.srcObject = null;
  }

  /** Detaches all elements that show the track, or all elements if trackId is undefined. */
  detachAll(trackId?: string): void {
    for (const [element, shown] of [...this.#elements]) if (trackId === undefined || shown === trackId) this.detach(element);
  }

  /** Shows the new media of a track in its elements; undefined when the media has ended. */
  changed(trackId: string, media: MediaStreamTrack | undefined): void {
    for (const [element, shown] of this.#elements) if (shown === trackId) show(element, media);
  }
}

function show(element: HTMLVideoElement, media: MediaStreamTrack | undefined): void {
  element.srcObject = media ? new MediaStream([media]) : null;
  element.muted = element.playsInline = element.autoplay = true;
}
