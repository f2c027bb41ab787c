import { Stack, Text } from '@mantine/core';

import type { AdminScope, RoleCatalogue, Scope } from '../../gen/api.js';
import { api } from '../lib/api.js';
import { Waiting } from '../lib/parts.js';
import { useAdminPeople } from '../messages/admin-people.js';
import { useWord } from '../messages/admin-words.js';
import { Rows } from './shown.js';

// The permissions of each role, as the server has them.
export function Roles() {
  const query = api.useQuery('get', '/v1/admin/roles');
  if (!query.data) return <Waiting query={query} />;
  return <><AdminRoles of={query.data.admin} /><TenantRoles of={query.data.tenant} /></>;
}

type Texts = ReturnType<typeof useAdminPeople>;

const adminScopes = {
  'admin:read': 'admin_read', 'admin:write': 'admin_write', 'admin:support': 'admin_support', 'admin:billing': 'admin_billing',
} as const satisfies Record<AdminScope, Parameters<Texts>[0]>;

function AdminRoles({ of }: { of: RoleCatalogue['admin'] }) {
  const t = useAdminPeople();
  const word = useWord();
  return (
    <Rows title={t('roles')} head={[t('may'), ...of.map(({ role }) => word(role))]}
      rows={(Object.keys(adminScopes) as AdminScope[]).map((scope) => ({
        key: scope, cells: [t(adminScopes[scope]), ...of.map(({ scopes }) => (scopes.includes(scope) ? t('yes') : '–'))],
      }))} />
  );
}

// The part of a scope before the colon. The compiler refuses an area without a text.
type Area = Scope extends infer S ? S extends `${infer A}:${string}` ? A : never : never;
const areas: Area[] = [
  'account', 'tenant', 'team', 'streams', 'recordings', 'chat', 'sessions', 'catalog', 'commerce', 'restream', 'push', 'keys', 'webhooks',
  'billing', 'support',
];

function TenantRoles({ of }: { of: RoleCatalogue['tenant'] }) {
  const t = useAdminPeople();
  const word = useWord();
  const allowed = (scopes: Scope[], area: Area) => {
    const [reads, changes] = [scopes.includes(`${area}:read` as Scope), scopes.includes(`${area}:write` as Scope)];
    if (reads && changes) return t('readsAndChanges');
    return reads ? t('reads') : changes ? t('changes') : '–';
  };
  return (
    <Stack gap="xs">
      <Rows title={t('tenantRoles')} head={[t('area'), ...of.map(({ role }) => word(role))]}
        rows={areas.map((area) => ({ key: area, cells: [t(area), ...of.map(({ scopes }) => allowed(scopes, area))] }))} />
      <Text size="sm" c="dimmed">{t('keyNote')}</Text>
    </Stack>
  );
}
