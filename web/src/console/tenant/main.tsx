import { createRootRoute, createRoute, createRouter, lazyRouteComponent, RouterProvider } from '@tanstack/react-router';

import { CrashNote, MissingPage } from '../lib/fallbacks.js';
import { takeImpersonation } from '../lib/impersonation.js';
import { mount } from '../lib/mount.js';
import { Gate } from './gate.js';

const root = createRootRoute({ component: Gate, notFoundComponent: MissingPage, errorComponent: CrashNote });
const at = (path: string, load: () => Promise<{ default: React.ComponentType }>) => (
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load), errorComponent: CrashNote })
);
const routes = root.addChildren([
  at('/', () => import('./overview.js')),
  at('/signup', () => import('./overview.js')), // someone who has signed in already
  at('/streams', () => import('./streams.js')),
  at('/streams/$id', () => import('./stream.js')),
  at('/recordings', () => import('./recordings.js')),
  at('/recordings/$id', () => import('./recording.js')),
  at('/restream', () => import('./restream.js')),
  at('/sessions', () => import('./sessions.js')),
  at('/sessions/$id', () => import('./session.js')),
  at('/channels', () => import('./channels.js')),
  at('/channels/$id', () => import('./channel.js')),
  at('/catalog', () => import('./catalog.js')),
  at('/orders', () => import('./orders.js')),
  at('/orders/$id', () => import('./order.js')),
  at('/auctions', () => import('./auctions.js')),
  at('/auctions/$id', () => import('./auction.js')),
  at('/payments', () => import('./payments.js')),
  at('/shopping', () => import('./shopping.js')),
  at('/discounts', () => import('./discounts.js')),
  at('/webhooks', () => import('./webhooks.js')),
  at('/webhooks/$id', () => import('./deliveries.js')),
  at('/keys', () => import('./keys.js')),
  at('/team', () => import('./team.js')),
  at('/billing', () => import('./billing.js')),
  at('/billing/usage', () => import('./usage.js')),
  at('/settings', () => import('./settings.js')),
  at('/security', () => import('./security.js')),
  at('/support', () => import('./tickets.js')),
  at('/support/$id', () => import('./ticket.js')),
  at('/audit', () => import('./audit.js')),
  at('/analytics', () => import('./analytics.js')),
  at('/webhook-tester', () => import('./tester.js')),
  at('/webhook-tester/$token', () => import('./captures.js')),
  at('/push', () => import('./push.js')),
]);

takeImpersonation();
mount(<RouterProvider router={createRouter({ routeTree: routes, basepath: '/console' })} />);
