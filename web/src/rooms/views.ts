import type { View } from './protocol.js';

const settleMs = 100; // sizes may change with every frame; changes within this time are sent together

/** The document's events after which other videos may be visible. */
const changes = ['visibilitychange', 'enterpictureinpicture', 'leavepictureinpicture'] as const;

/**
 * Reports the size at which each video is shown, so that the server sends no larger
 * picture. Of several elements with the same track the largest counts.
 */
export class Views {
  readonly #elements = new Map<HTMLElement, { id: string; inside: boolean }>();
  readonly #tracks = new Set<string>();
  readonly #told = new Map<string, string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #sizes = new ResizeObserver(() => this.#soon());
  readonly #inside = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const shown = this.#elements.get(entry.target as HTMLElement);
      if (shown) shown.inside = entry.isIntersecting;
    }
    this.#soon();
  });

  /** @param tell is called with the views that have changed */
  constructor(private readonly tell: (views: View[]) => void) {
    for (const name of changes) document.addEventListener(name, this.#soon);
  }

  /** Adds a video. It counts as hidden until an element shows it. */
  add(id: string): void {
    this.#tracks.add(id);
    this.#soon();
  }

  /** Removes a video. */
  remove(id: string): void {
    this.#tracks.delete(id);
    this.#told.delete(id);
  }

  /** Observes an element that shows the video. */
  observe(element: HTMLElement, id: string): void {
    this.#elements.set(element, { id, inside: true });
    this.#sizes.observe(element);
    this.#inside.observe(element);
    this.#soon();
  }

  /** Stops observing an element. */
  unobserve(element: HTMLElement): void {
    if (!this.#elements.delete(element)) return;
    this.#sizes.unobserve(element);
    this.#inside.unobserve(element);
    this.#soon();
  }

  /** Reports all views again, because the server doesn't know them on a new connection. */
  forget(): void {
    this.#told.clear();
    this.#soon();
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const name of changes) document.removeEventListener(name, this.#soon);
    this.#sizes.disconnect();
    this.#inside.disconnect();
  }

  readonly #soon = (): void => {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, settleMs);
  };

  #flush(): void {
    const changed = [...this.#tracks].map((id) => this.#view(id)).filter((view) => {
      const text = JSON.stringify(view);
      const same = this.#told.get(view.id) === text;
      this.#told.set(view.id, text);

      return !same;
    });
    if (changed.length > 0) this.tell(changed);
  }

  #view(id: string): View {
    let width = 0;
    let height = 0;
    for (const [element, shown] of this.#elements) {
      const floats = document.pictureInPictureElement === element; // on top of other windows, even if the page is hidden
      if (shown.id !== id || !floats && (!shown.inside || document.hidden)) continue;
      const pixels = Math.round(element.clientWidth * devicePixelRatio);
      if (pixels <= width) continue;
      width = pixels;
      height = Math.round(element.clientHeight * devicePixelRatio);
    }

    return { id, width, height, hidden: width === 0 };
  }
}
