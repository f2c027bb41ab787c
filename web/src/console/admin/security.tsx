import { Stack } from '@mantine/core';

import { api, client, unwrap } from '../lib/api.js';
import { Logins } from '../lib/logins.js';
import { Heading } from '../lib/parts.js';
import { SecondFactor, type FactorOperations } from '../lib/second-factor.js';
import { useAdminAccess } from '../messages/admin-access.js';
import { Roles } from './roles.js';

const operations: FactorOperations = {
  begin: (body) => unwrap(client.POST('/v1/admin/auth/totp', { body })),
  confirm: (body) => unwrap(client.POST('/v1/admin/auth/totp/confirm', { body })),
  renew: (body) => unwrap(client.POST('/v1/admin/auth/totp/recovery-codes', { body })),
  disable: (body) => unwrap(client.DELETE('/v1/admin/auth/totp', { body })),
};

const all = { setup: true, renew: true, disable: true };

export default function Security() {
  const t = useAdminAccess();
  const state = api.useQuery('get', '/v1/admin/auth/totp');
  const list = api.useQuery('get', '/v1/admin/auth/sessions', {}, { refetchInterval: 60_000 });
  return (
    <Stack>
      <Heading title={t('security')} />
      <SecondFactor state={state} operations={operations} may={all} offText={t('factorOff')} />
      <Logins list={list} end={(id) => unwrap(client.DELETE('/v1/admin/auth/sessions/{id}', { params: { path: { id } } }))}
        endOthers={() => unwrap(client.DELETE('/v1/admin/auth/sessions'))} />
      <Roles />
    </Stack>
  );
}
