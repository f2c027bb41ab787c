import { useSyncExternalStore } from 'react';

// An admin of the platform who acts for a tenant opens /console/impersonate#token=… in a new tab. The token is kept in this tab only:
// the cookie may hold the login of a user of the tenant's console.
const storageKey = 'showfloor-impersonation';
const listeners = new Set<() => void>();
let token: string | null = kept();
let ended = false;

// The admin console in the same tab shares the storage, but never the token.
function inConsole(): boolean {
  return location.pathname === '/console' || location.pathname.startsWith('/console/');
}

function kept(): string | null {
  if (!inConsole()) return null;
  try {
    return sessionStorage.getItem(storageKey);
  } catch {
    return null; // the browser forbids storage
  }
}

function keep(next: string | null) {
  token = next;
  try {
    if (next) sessionStorage.setItem(storageKey, next);
    else sessionStorage.removeItem(storageKey);
  } catch {
    // The token lasts until the page is closed.
  }
}

// Takes the token out of the address, so that it isn't in the history. Call it before the router reads the address.
export function takeImpersonation() {
  if (location.pathname !== '/console/impersonate') return;
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  history.replaceState(null, '', '/console');
  if (given) keep(given);
}

export const impersonationToken = () => token;

// True from the end of an impersonation until the page is loaded again.
export const impersonationHasEnded = () => ended;

// Forgets the token. The page then says that the access has ended.
export function endImpersonation() {
  keep(null);
  ended = true;
  for (const listener of listeners) listener();
}

const revocations = 4;
const revokeAgainMs = 1500;

// Ends the access on the server, too. A busy or unreachable server is asked again three times; then the token expires by itself.
export function revokeImpersonation() {
  if (token) void revoke({ Authorization: `Bearer ${token}` });
  endImpersonation();
}

async function revoke(headers: Record<string, string>) {
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch('/v1/auth/impersonation/end', { method: 'POST', keepalive: true, headers }).catch(() => null);
    const again = !answer || answer.status === 429 || answer.status >= 500;
    if (!again || tries === revocations) return;
    await new Promise((done) => { setTimeout(done, revokeAgainMs); });
  }
}

// Forgets a token that isn't an impersonation's: a link must not sign a user in to another account.
export function dropToken() {
  keep(null);
}

export function useImpersonationEnded(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => { listeners.delete(listener); };
  }, impersonationHasEnded);
}
