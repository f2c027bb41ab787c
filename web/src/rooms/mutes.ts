import type { LocalTrack } from './publisher.js';
import type { ClientMessage } from './protocol.js';

/**
 * mutesToRepeat returns the `mute` messages to send after a loss of the socket, since those
 * sent while it was away are lost. ownMuted says whether our participant is muted.
 */
export function mutesToRepeat(tracks: LocalTrack[], ownMuted: boolean): (ClientMessage & { type: 'mute' })[] {
  const speaks = tracks.some(({ source, id }) => source === 'microphone' && id !== undefined);

  return tracks.flatMap(({ source, id, muted }) => {
    // Without a microphone at the server, the screen's sound would undo a moderator's mute.
    const undoes = source === 'screen-audio' && !muted && ownMuted && !speaks;
    const known = source === 'microphone' && muted === ownMuted;

    return id === undefined || undoes || known ? [] : [{ type: 'mute', id, muted }];
  });
}
