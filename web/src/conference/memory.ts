// What the page remembers: devices for good, the rest until the tab is closed.

/** Devices that were chosen. */
export interface Chosen {
  microphone?: string;
  camera?: string;
  speaker?: string;
}

/** How one was in a room before the page was loaded anew. */
export interface Presence {
  microphone: boolean;
  camera: boolean;
}

export function chosen(): Chosen {
  return read<Chosen>(() => localStorage, 'showfloor.devices') ?? {};
}

export function choose(devices: Chosen): void {
  write(() => localStorage, 'showfloor.devices', { ...chosen(), ...devices });
}

export function presence(room: string): Presence | undefined {
  return read<Presence>(() => sessionStorage, `showfloor.in.${room}`);
}

export function setPresence(room: string, presence: Presence | undefined): void {
  write(() => sessionStorage, `showfloor.in.${room}`, presence);
}

// Browsers may refuse storage altogether: then nothing is remembered.
function read<Value>(storage: () => Storage, key: string): Value | undefined {
  try {
    const text = storage().getItem(key);

    return text ? (JSON.parse(text) as Value) : undefined;
  } catch {
    return undefined;
  }
}

function write(storage: () => Storage, key: string, value: object | undefined): void {
  try {
    if (value) storage().setItem(key, JSON.stringify(value));
    else storage().removeItem(key);
  } catch {
    // As above.
  }
}
