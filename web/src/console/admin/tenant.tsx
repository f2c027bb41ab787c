import { Alert, Button, Group, Select, SimpleGrid, Stack, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';

import type { PlanTier, TenantSummary, User } from '../../gen/api.js';
import { api, client, unwrap } from '../lib/api.js';
import { number, time } from '../lib/format.js';
import { Figure, FormModal, Heading, ReasonButton, Waiting, useChange, useConfirm } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useAdminTenant } from '../messages/admin-tenant.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { ImpersonateButton } from './impersonate.js';
import { Rows, Tag, useOptions } from './shown.js';
import { plans } from './tenants.js';

export default function TenantPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useAdmin();
  const common = useCommon();
  const word = useWord();
  const more = useAdminTenant();
  const query = api.useQuery('get', '/v1/admin/tenants/{id}', { params: { path: { id } } }, { refetchInterval: 15_000 });
  if (!query.data) return <Waiting query={query} />;
  const { tenant, users, recentStreams, keys, audit } = query.data;
  return (
    <Stack>
      <Heading title={tenant.name}><Actions tenant={tenant} users={users} /></Heading>
      {tenant.suspendedAt && (
        <Alert color="red" variant="outline" title={`${t('suspended')} · ${time(tenant.suspendedAt)}`}>{t('suspensionReason', { reason: tenant.suspensionReason ?? '' })}</Alert>
      )}
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label={common('status')} value={<Tag of={tenant.status} />} />
        <Figure label={common('plan')} value={word(tenant.plan)} />
        <Figure label={t('members')} value={number(tenant.userCount)} />
        <Figure label={t('live')} value={number(tenant.liveStreamCount)} />
      </SimpleGrid>
      <TenantLinks id={id} />
      <Rows title={t('users')} head={[common('name'), common('email'), common('role'), common('status')]}
        rows={users.map(({ id: key, name, email, role, status }) => ({
          key,
          cells: [<Link key="name" className="link" to={`/users/${key}` as never}>{name || email}</Link>, email, word(role), <Tag
            key="status" of={status} />],
        }))} />
      <Rows title={t('recentStreams')} head={[common('name'), common('status'), common('created')]}
        rows={recentStreams.map(({ id: key, name, status, createdAt }) => ({
          key, cells: [<Link key="name" className="link" to={`/streams/${key}` as never}>{name}</Link>, <Tag key="status" of={status} />, time(createdAt)],
        }))} />
      <Rows title={t('keys')} head={[common('name'), t('keys'), more('lastUsed')]}
        rows={keys.map(({ id: key, name, prefix, last4, lastUsedAt }) => ({ key, cells: [name, `${prefix}…${last4}`, time(lastUsedAt)] }))} />
      <Rows title={t('audit')} head={[t('action'), t('actor'), common('reason'), t('at')]}
        rows={audit.map(({ id: key, action, actorType, reason, at }) => ({ key, cells: [action, word(actorType), reason ?? '', time(at)] }))} />
    </Stack>
  );
}

function TenantLinks({ id }: { id: string }) {
  const t = useAdminTenant();
  const admin = useAdmin();
  const search = { tenantId: id } as never;
  return (
    <Group gap="md">
      <Link className="link" to={`/compliance/${id}` as never}>{t('compliance')}</Link>
      <Link className="link" to="/tickets" search={search}>{t('tickets')}</Link>
      <Link className="link" to="/streams" search={search}>{t('streams')}</Link>
      <Link className="link" to="/recordings" search={search}>{t('recordings')}</Link>
      <Link className="link" to="/invoices" search={search}>{admin('invoices')}</Link>
      <Link className="link" to="/audit" search={search}>{admin('audit')}</Link>
    </Group>
  );
}

function Actions({ tenant, users }: { tenant: TenantSummary; users: User[] }) {
  const t = useAdmin();
  const may = useMay();
  const confirm = useConfirm();
  const path = { params: { path: { id: tenant.id } } };
  const lift = useChange(() => unwrap(client.POST('/v1/admin/tenants/{id}/unsuspend', path)));
  return (
    <Group gap="xs">
      {may('admin:write') && <ImpersonateButton tenant={tenant} users={users} />}
      {may('admin:billing') && <PlanButton tenant={tenant} />}
      {may('admin:write') && (tenant.status === 'SUSPENDED'
        ? <Button size="xs" onClick={() => confirm(t('unsuspend'), t('unsuspendText'), () => lift.mutate(undefined))}>{t('unsuspend')}</Button>
        : <ReasonButton label={t('suspend')} text={t('suspendText')} run={(reason) => unwrap(client.POST('/v1/admin/tenants/{id}/suspend', { ...path, body: { reason } }))} />)}
    </Group>
  );
}

function PlanButton({ tenant }: { tenant: TenantSummary }) {
  const t = useAdmin();
  const common = useCommon();
  const tiers = useOptions(plans);
  const [open, setOpen] = useState(false);
  const [plan, setPlan] = useState<PlanTier>(tenant.plan);
  const change = useChange(() => unwrap(client.PATCH('/v1/admin/tenants/{id}/plan', { params: { path: { id: tenant.id } }, body: { plan } })), {
    shows: true, done: common('saved'), after: () => setOpen(false),
  });
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>{t('changePlan')}</Button>
      <FormModal title={t('changePlan')} open={open} close={() => setOpen(false)} submit={() => change.mutate(undefined)} busy={change.isPending} error={change.error} action={common('save')}>
        <Text size="sm">{t('changePlanText')}</Text>
        <Select label={common('plan')} data={tiers} value={plan} allowDeselect={false} onChange={(next) => setPlan(next as PlanTier)} />
      </FormModal>
    </>
  );
}
