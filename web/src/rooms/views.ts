import type { View } from './protocol.js';

const settleMs = 100; // sizes that change with every frame are told together

/**
 * Knows how large each video is shown, so that no more is sent than is seen. Of
 * several elements with the same track the largest counts.
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

  /** @param tell is called with what is different */
  constructor(private readonly tell: (views: View[]) => void) {
    document.addEventListener('visibilitychange', this.#soon);
  }

  /** There is a video; until an element shows it, it is hidden. */
  add(id: string): void {
    this.#tracks.add(id);
    this.#soon();
  }

  /** The video is gone. */
  remove(id: string): void {
    this.#tracks.delete(id);
    this.#told.delete(id);
  }

  /** The element shows the video from now on. */
  observe(element: HTMLElement, id: string): void {
    this.#elements.set(element, { id, inside: true });
    this.#sizes.observe(element);
    this.#inside.observe(element);
    this.#soon();
  }

  /** The element shows nothing any more. */
  unobserve(element: HTMLElement): void {
    if (!this.#elements.delete(element)) return;
    this.#sizes.unobserve(element);
    this.#inside.unobserve(element);
    this.#soon();
  }

  /** On a new connection nothing has been told yet. */
  forget(): void {
    this.#told.clear();
    this.#soon();
  }

  close(): void {
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#soon);
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
      if (shown.id !== id || !shown.inside || document.hidden) continue;
      const pixels = Math.round(element.clientWidth * devicePixelRatio);
      if (pixels <= width) continue;
      width = pixels;
      height = Math.round(element.clientHeight * devicePixelRatio);
    }

    return { id, width, height, hidden: width === 0 };
  }
}
