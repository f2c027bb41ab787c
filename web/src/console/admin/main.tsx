import { createRootRoute, createRoute, createRouter, lazyRouteComponent, RouterProvider } from '@tanstack/react-router';

import { CrashNote, MissingPage } from '../lib/fallbacks.js';
import { mount } from '../lib/mount.js';
import { Gate } from './gate.js';

const root = createRootRoute({ component: Gate, notFoundComponent: MissingPage, errorComponent: CrashNote });
const at = (path: string, load: () => Promise<{ default: React.ComponentType }>) => (
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load), errorComponent: CrashNote })
);
const routes = root.addChildren([
  at('/', () => import('./dashboard.js')),
  at('/live', () => import('./live.js')),
  at('/streams', () => import('./streams.js')),
  at('/streams/$id', () => import('./stream.js')),
  at('/tenants', () => import('./tenants.js')),
  at('/tenants/$id', () => import('./tenant.js')),
  at('/users', () => import('./users.js')),
  at('/users/$id', () => import('./user.js')),
  at('/tickets', () => import('./tickets.js')),
  at('/tickets/$id', () => import('./ticket.js')),
  at('/announcements', () => import('./announcements.js')),
  at('/announcements/$id', () => import('./announcement.js')),
  at('/compliance', () => import('./compliance.js')),
  at('/compliance/$id', () => import('./compliance-record.js')),
  at('/webhooks', () => import('./webhooks.js')),
  at('/webhooks/$id', () => import('./webhook-deliveries.js')),
  at('/jobs', () => import('./jobs.js')),
  at('/health', () => import('./health.js')),
  at('/settings', () => import('./settings.js')),
  at('/reports', () => import('./reports.js')),
  at('/usage', () => import('./usage.js')),
  at('/apps', () => import('./apps.js')),
  at('/apps/$id', () => import('./app.js')),
  at('/security', () => import('./security.js')),
  at('/audit', () => import('./audit.js')),
  at('/plans', () => import('./plans.js')),
  at('/plans/$id', () => import('./plan.js')),
  at('/subscriptions', () => import('./subscriptions.js')),
  at('/invoices', () => import('./invoices.js')),
  at('/recordings', () => import('./recordings.js')),
  at('/bandwidth', () => import('./bandwidth.js')),
]);

mount(<RouterProvider router={createRouter({ routeTree: routes, basepath: '/admin' })} />);
