// State that the page stores: chosen devices permanently, all else until the tab is closed.

import type { OwnTile } from './stage.js';

/** The ids of the devices that the user has chosen. */
export interface Chosen {
  microphone?: string;
  camera?: string;
  speaker?: string;
}

/** The devices that were on in a room before a reload. */
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

/** Where the user has put the own tile. */
export function ownTile(): OwnTile {
  return read<{ is: OwnTile }>(() => localStorage, 'showfloor.own-tile')?.is ?? 'shown';
}

export function setOwnTile(is: OwnTile): void {
  write(() => localStorage, 'showfloor.own-tile', { is });
}

/** Whether the user doesn't want captions. */
export function captionsHidden(): boolean {
  return read<{ hidden: boolean }>(() => localStorage, 'showfloor.captions')?.hidden ?? false;
}

export function setCaptionsHidden(hidden: boolean): void {
  write(() => localStorage, 'showfloor.captions', { hidden });
}

// Browsers may block storage. Then nothing is stored.
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
    // Storage is blocked: see read.
  }
}
