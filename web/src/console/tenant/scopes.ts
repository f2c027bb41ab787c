import type { Scope } from '../../gen/api.js';

// All values, checked by the compiler: a missing one makes the type below differ.
export const scopes = [
  'account:read', 'tenant:write', 'team:read', 'team:write', 'streams:read', 'streams:write', 'recordings:read',
  'recordings:write', 'chat:read', 'chat:write', 'sessions:read', 'sessions:write', 'catalog:read', 'catalog:write',
  'commerce:read', 'commerce:write', 'restream:read', 'restream:write', 'push:read', 'push:write', 'keys:read', 'keys:write',
  'webhooks:read', 'webhooks:write', 'billing:read', 'billing:write',
  'support:read', 'support:write',
] as const satisfies readonly Scope[];

type Missing = Exclude<Scope, (typeof scopes)[number]>;
export const complete: Missing extends never ? true : Missing = true;
