/**
 * An EventTarget whose events are typed: `Events` maps each name to what comes
 * with it. Every event is a CustomEvent, its `detail` is what came.
 */
export class Emitter<Events extends object> extends EventTarget {
  /**
   * Calls the listener whenever the event happens.
   *
   * @returns a function that takes the listener away again
   */
  on<Name extends keyof Events & string>(name: Name, listener: (detail: Events[Name]) => void): () => void {
    const heard = (event: Event): void => listener((event as CustomEvent<Events[Name]>).detail);
    this.addEventListener(name, heard);

    return () => this.removeEventListener(name, heard);
  }

  /** Resolves with what comes with the next event of that name. */
  next<Name extends keyof Events & string>(name: Name): Promise<Events[Name]> {
    return new Promise((resolve) => {
      const off = this.on(name, (detail) => {
        off();
        resolve(detail);
      });
    });
  }

  /** Tells the listeners. */
  protected emit<Name extends keyof Events & string>(name: Name, detail: Events[Name]): void {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
