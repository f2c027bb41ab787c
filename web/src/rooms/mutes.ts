import type { LocalTrack } from './publisher.js';
import type { ClientMessage } from './protocol.js';

/**
 * mutesToRepeat returns the `mute` messages to send after a loss of the socket, since messages
 * sent during the loss did not arrive. ownMuted is the local participant's mute at the server.
 */
export function mutesToRepeat(tracks: LocalTrack[], ownMuted: boolean): (ClientMessage & { type: 'mute' })[] {
  const speaks = tracks.some(({ source, id }) => source === 'microphone' && id !== undefined);

  return tracks.flatMap(({ source, id, muted }) => {
    // If no microphone is published, unmuting the screen's sound would undo a moderator's mute.
    const undoes = source === 'screen-audio' && !muted && ownMuted && !speaks;
    const known = source === 'microphone' && muted === ownMuted;

    return id === undefined || undoes || known ? [] : [{ type: 'mute', id, muted }];
  });
}
