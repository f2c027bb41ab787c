import { useSyncExternalStore } from 'react';

// The state of the sign-in. The token itself is in a cookie that no script can read.
let signedInAs: string | null = null;
let waiting: { promise: Promise<void>; resolve: () => void } | null = null;
const listeners = new Set<() => void>();

function tell() {
  for (const listener of listeners) listener();
}

export const isSignedIn = () => signedInAs !== null;

const signedInKey = 'showfloor-signed-in';

export function setSignedIn(userID: string | null) {
  signedInAs = userID;
  try {
    if (userID) localStorage.setItem(signedInKey, 'yes');
    else localStorage.removeItem(signedInKey);
  } catch { /* The browser stores nothing: the next page loads a little later. */ }
}

// Reports whether a user was signed in when the last page was open. Only the server knows whether the login is still valid.
export function wasSignedIn(): boolean {
  try {
    return localStorage.getItem(signedInKey) !== null;
  } catch {
    return false;
  }
}

// The user, with the tenant, of the first answer about them in this page.
let shownTo: string | null = null;

// Reloads the page if its data and forms are those of another user, for example after a sign-in in another tab. It then never returns, so
// that nothing of the new user is mixed with them.
export async function stayWith(user: string): Promise<void> {
  shownTo ??= user;
  if (shownTo === user) return;
  location.reload();
  await new Promise(() => {});
}

// Opens the sign-in over the page. The promise is kept when the user has signed in.
export function askToSignIn(): Promise<void> {
  if (!waiting) {
    let resolve = () => {};
    const promise = new Promise<void>((done) => { resolve = done; });
    waiting = { promise, resolve };
    tell();
  }
  return waiting.promise;
}

// Continues after a sign-in over the page. For another user the page starts again, since it shows the data of the first one.
export function signedInAgain(userID: string) {
  if (signedInAs !== userID) {
    location.reload();
    return;
  }
  waiting?.resolve();
  waiting = null;
  tell();
}

export function useSessionExpired(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => { listeners.delete(listener); };
  }, () => waiting !== null);
}
