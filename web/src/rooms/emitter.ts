/**
 * An EventTarget with typed events: `Events` maps the name of each event to the
 * type of its data. Every event is a CustomEvent whose `detail` is the data.
 */
export class Emitter<Events extends object> extends EventTarget {
  /**
   * Adds a listener for the event.
   *
   * @returns a function that removes the listener
   */
  on<Name extends keyof Events & string>(name: Name, listener: (detail: Events[Name]) => void): () => void {
    const heard = (event: Event): void => listener((event as CustomEvent<Events[Name]>).detail);
    this.addEventListener(name, heard);

    return () => this.removeEventListener(name, heard);
  }

  /** Resolves with the data of the next event with this name. */
  next<Name extends keyof Events & string>(name: Name): Promise<Events[Name]> {
    return new Promise((resolve) => {
      const off = this.on(name, (detail) => {
        off();
        resolve(detail);
      });
    });
  }

  /** Calls the event's listeners with its data. */
  protected emit<Name extends keyof Events & string>(name: Name, detail: Events[Name]): void {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
