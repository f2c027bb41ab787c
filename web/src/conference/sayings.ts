// The page's texts for closed rooms, refusals and errors.
import { ApiError } from '../rooms/index.js';
import type { Closed } from '../rooms/index.js';

/** The texts of a screen: what has happened, and what the user can do. */
export interface Saying {
  title: string;
  text: string;
  /** The label of the button for another attempt; undefined for no button. */
  again?: string;
}

/** Returns the texts for a closed room. */
export function farewell({ code, message }: Closed, isCall: boolean): Saying {
  switch (code) {
    case 'left':
      return isCall
        ? { title: 'You hung up', text: 'You can close this page.' }
        : { title: 'You left the room', text: 'You can come back as long as the session runs.', again: 'Come back' };
    case 'kicked':
      return { title: 'You were removed', text: 'A host removed you from this room. You can come back only if you are invited again.' };
    case 'ended':
      return isCall
        ? { title: 'The call has ended', text: 'You can close this page.' }
        : { title: 'The session has ended', text: 'Thank you for coming. You can close this page.' };
    case 'replaced':
      return {
        title: 'You are in this room elsewhere',
        text: 'You opened it in another tab or on another device. Only one of them can be in the room at a time.',
        again: 'Use it here',
      };
    case 'session_full':
      return { title: 'The room is full', text: 'You can join as soon as somebody leaves.', again: 'Try again' };
    case 'locked':
      return {
        title: 'The room is locked',
        text: 'No new participants can join at the moment. Ask the host to unlock the room.',
        again: 'Try again',
      };
    case 'token_expired':
      return { title: 'This link has expired', text: 'A link is valid for six hours. Ask the person who sent it for a new one.' };
    case 'unauthenticated':
      return {
        title: 'This link doesn’t work',
        text: 'A part of the link may be missing. Open it again exactly as you received it, or ask for a new one.',
      };
    case 'forbidden':
      return { title: 'This link doesn’t open this room', text: 'It is for another room. Ask the person who sent it for the right one.' };
    case 'suspended':
      return { title: 'The room is out of service', text: 'The account that the room belongs to is suspended. Ask its owner for details.' };
    case 'rate_limited':
      return { title: 'Too many attempts', text: 'Wait a moment and try again.', again: 'Try again' };
    default:
      return { title: 'The connection is lost', text: sentence(message), again: 'Try again' };
  }
}

/** Returns the texts for a call that ended without an answer, for the caller or the callee. */
export function unanswered(isCaller: boolean): Saying {
  return isCaller
    ? { title: 'Nobody answered', text: 'The call was declined, or rang for too long. You can close this page.' }
    : { title: 'You missed the call', text: 'It ended before it was answered. You can close this page.' };
}

/** Returns the message for a microphone, camera or screen that can't be opened; empty for no message. */
export function deviceTrouble(error: unknown, what: 'microphone' | 'camera' | 'screen'): string {
  const name = error instanceof DOMException ? error.name : '';
  switch (name) {
    case 'NotAllowedError':
      return what === 'screen'
        ? '' // the user cancelled the choice of a screen
        : `The browser doesn’t let this page use your ${what}. Allow it in the address bar, then try again.`;
    case 'NotFoundError':
      return what === 'screen' ? 'There is no screen to share.' : `No ${what} was found. Is it plugged in?`;
    case 'NotReadableError':
      return `Your ${what} is in use by another program.`;
    case 'SecurityError':
      return 'Browsers allow microphones and cameras only on pages that are loaded over https.';
    default:
      return `Your ${what} can’t be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Returns the message for a request that failed. */
export function trouble(error: unknown): string {
  if (!(error instanceof ApiError)) return 'The server does not answer. Try again in a moment.';
  if (error.code === 'session_full') return 'The room is full.';
  if (error.status === 429) {
    return error.retryAfter > 0 ? `You are too fast. Try again in ${error.retryAfter} s.` : 'You are too fast. Try again in a moment.';
  }

  return sentence(error.message);
}

/** sentence makes a sentence of a message: a capital letter first and a full stop at the end. */
export function sentence(message: string): string {
  const text = message.trim();
  if (!text) return '';

  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? '' : '.');
}
