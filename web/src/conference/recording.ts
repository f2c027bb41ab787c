import type { Api, Room } from '../rooms/index.js';

/** Starts and stops the recording of the session, for its host. */
export class RecordingSwitch {
  #waits = false;

  constructor(
    private readonly api: Api,
    private readonly room: Room,
    /** Waits for a request to the server, and shows `done` or the error. */
    private readonly act: (work: Promise<unknown>, done: string) => Promise<void>,
  ) {}

  /** Whether the user may record this room. */
  get offered(): boolean {
    return this.room.self?.role === 'host' && this.room.kind !== 'stream';
  }

  /** Whether the server hasn't answered the last request yet. */
  get waits(): boolean {
    return this.#waits;
  }

  get records(): boolean {
    return Boolean(this.room.session.recordingId);
  }

  get label(): string {
    return this.records ? 'Stop recording' : 'Record';
  }

  async toggle(): Promise<void> {
    if (this.#waits) return;
    this.#waits = true;
    const { id, session: { recordingId } } = this.room;
    try {
      await (recordingId
        ? this.act(this.api.stopRecording(id, recordingId), 'The recording is stopped.')
        : this.act(this.api.startRecording(id), 'The recording begins. All participants see that.'));
    } finally {
      this.#waits = false;
    }
  }
}
