import { Centrifuge, State } from 'centrifuge';

import type { EventName } from '../../gen/api.js';
import { impersonationToken } from '../lib/impersonation.js';

const hiddenMs = 60_000; // how long a hidden page stays connected
const tokenExpired = 109;

const leastPauseMs = 4000; // between two attempts after a refusal; twice as long after each
const mostPauseMs = 300_000;

interface Handlers {
  // The channel delivers events from now on. Some may have been missed before.
  open: () => void;
  event: (event: EventName) => void;
  closed: () => void;
}

export interface EventChannel {
  // Connects again after the server has refused the connection, for example since the session had expired.
  retry: () => void;
  close: () => void;
}

// Follows the events of a tenant on the realtime channel. The browser sends the console's cookie by itself; the token of an
// impersonation is sent with the connect command. It reconnects by itself, unless the server refuses it.
export function openEventChannel(tenantID: string, on: Handlers): EventChannel {
  const url = `${location.origin.replace(/^http/, 'ws')}/v1/realtime/websocket`;
  const client = new Centrifuge(url, {
    getToken: () => Promise.resolve(impersonationToken() ?? ''), minReconnectDelay: 500, maxReconnectDelay: 10_000,
  });
  // Further attempts with the same cookie would count as guesses.
  client.on('error', ({ error }) => { if (error.code === tokenExpired) client.disconnect(); });
  const events = client.newSubscription(`tenant:${tenantID}`);
  let pause = leastPauseMs;
  let refused = 0;
  client.on('disconnected', ({ code }) => { if (code !== 0) refused = Date.now(); }); // 0: by this page
  events.on('subscribed', () => {
    pause = leastPauseMs;
    refused = 0;
    on.open();
  });
  events.on('subscribing', on.closed);
  events.on('unsubscribed', on.closed);
  events.on('publication', ({ data }) => on.event((data as { event: EventName }).event));
  events.subscribe();

  let timer: ReturnType<typeof setTimeout> | undefined;
  const follow = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => client.disconnect(), hiddenMs);
    else client.connect();
  };
  document.addEventListener('visibilitychange', follow);
  follow();

  return {
    retry: () => {
      if (document.hidden || client.state !== State.Disconnected || Date.now() < refused + pause) return;
      if (refused) pause = Math.min(2 * pause, mostPauseMs);
      client.connect();
    },
    close: () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', follow);
      client.disconnect();
    },
  };
}
