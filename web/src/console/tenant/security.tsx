import { Stack, Text } from '@mantine/core';

import { api, client, unwrap } from '../lib/api.js';
import { Logins } from '../lib/logins.js';
import { Heading } from '../lib/parts.js';
import { SecondFactor, type FactorOperations } from '../lib/second-factor.js';
import { useSecurity } from '../messages/security.js';
import { useIdentity, useMayCall } from './identity.js';

const operations: FactorOperations = {
  begin: (body) => unwrap(client.POST('/v1/me/security/totp', { body })),
  confirm: (body) => unwrap(client.POST('/v1/me/security/totp/confirm', { body })),
  renew: (body) => unwrap(client.POST('/v1/me/security/totp/recovery-codes', { body })),
  disable: (body) => unwrap(client.DELETE('/v1/me/security/totp', { body })),
};

export default function Security() {
  const t = useSecurity();
  const { user } = useIdentity();
  return (
    <Stack>
      <Heading title={t('title')} />
      {user ? <><Factor /><UserLogins /></> : <Text>{t('noUser')}</Text>}
    </Stack>
  );
}

function Factor() {
  const t = useSecurity();
  const mayCall = useMayCall();
  const state = api.useQuery('get', '/v1/me/security/totp');
  const may = { setup: mayCall('beginTotp'), renew: mayCall('renewRecoveryCodes'), disable: mayCall('disableTotp') };
  return <SecondFactor state={state} operations={operations} may={may} offText={t('offText')} />;
}

function UserLogins() {
  const mayCall = useMayCall();
  const list = api.useQuery('get', '/v1/me/security/sessions');
  const end = (id: string) => unwrap(client.DELETE('/v1/me/security/sessions/{id}', { params: { path: { id } } }));
  const endOthers = () => unwrap(client.DELETE('/v1/me/security/sessions'));
  return <Logins list={list} end={mayCall('endSignIn') ? end : undefined} endOthers={mayCall('endOtherSignIns') ? endOthers : undefined} />;
}
