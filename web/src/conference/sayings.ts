// What the page says when something is over or not to be had.
import { ApiError } from '../rooms/index.js';
import type { Closed } from '../rooms/index.js';

/** A screen that tells what is, and what can be done. */
export interface Saying {
  title: string;
  text: string;
  /** What the button that tries again is called; without it there is none. */
  again?: string;
}

/** What to say when the room is closed. */
export function farewell({ code, message }: Closed, isCall: boolean): Saying {
  switch (code) {
    case 'left':
      return isCall
        ? { title: 'You hung up', text: 'You can close this page.' }
        : { title: 'You left the room', text: 'You can come back as long as the session runs.', again: 'Come back' };
    case 'kicked':
      return { title: 'You were removed', text: 'A host took you out of this room. You can come back only if they invite you again.' };
    case 'ended':
      return isCall
        ? { title: 'The call has ended', text: 'You can close this page.' }
        : { title: 'The session has ended', text: 'Thank you for coming. You can close this page.' };
    case 'replaced':
      return { title: 'You are in this room elsewhere', text: 'You opened it in another tab or on another device. One at a time counts.', again: 'Use it here' };
    case 'session_full':
      return { title: 'The room is full', text: 'As soon as somebody leaves there is a place for you.', again: 'Try again' };
    case 'locked':
      return { title: 'The room is locked', text: 'The host lets nobody new in at the moment. Ask them to unlock it.', again: 'Try again' };
    case 'token_expired':
      return { title: 'This link has expired', text: 'Links are good for six hours. Ask whoever sent it for a new one.' };
    case 'unauthenticated':
      return { title: 'This link doesn’t work', text: 'Perhaps a part of it got lost. Open it once more as you received it, or ask for a new one.' };
    case 'forbidden':
      return { title: 'This link doesn’t open this room', text: 'It is for another room. Ask whoever sent it for the right one.' };
    case 'suspended':
      return { title: 'The room is out of service', text: 'The account that it belongs to is switched off. Its owner knows more.' };
    case 'rate_limited':
      return { title: 'Too many at once', text: 'Wait a moment and try again.', again: 'Try again' };
    default:
      return { title: 'The connection is lost', text: sentence(message), again: 'Try again' };
  }
}

/** What to say when a call is over that never was: to the caller, and to the other one. */
export function unanswered(isCaller: boolean): Saying {
  return isCaller
    ? { title: 'Nobody answered', text: 'The call was declined, or rang for too long. You can close this page.' }
    : { title: 'You missed the call', text: 'It was over before it was answered. You can close this page.' };
}

/** What to say when a microphone, camera or screen can't be had. */
export function deviceTrouble(error: unknown, what: 'microphone' | 'camera' | 'screen'): string {
  const name = error instanceof DOMException ? error.name : '';
  switch (name) {
    case 'NotAllowedError':
      return what === 'screen'
        ? '' // they chose nothing: as they wish
        : `The browser doesn’t let this page use your ${what}. Allow it at the address bar, then try again.`;
    case 'NotFoundError':
      return what === 'screen' ? 'There is no screen to share.' : `No ${what} was found. Is it plugged in?`;
    case 'NotReadableError':
      return `Your ${what} is in use by another program.`;
    case 'SecurityError':
      return 'Browsers allow microphones and cameras only on pages that come by https.';
    default:
      return `Your ${what} can’t be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** What to say when the server refuses something. */
export function trouble(error: unknown): string {
  if (!(error instanceof ApiError)) return 'The server does not answer. Try again in a moment.';
  if (error.code === 'session_full') return 'The room is full.';
  if (error.status === 429) return error.retryAfter > 0 ? `Slow down: again in ${error.retryAfter} s.` : 'Slow down a little.';

  return sentence(error.message);
}

/** sentence makes one of a message. */
export function sentence(message: string): string {
  const text = message.trim();
  if (!text) return '';

  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? '' : '.');
}
