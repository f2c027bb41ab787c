import { Button, Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import type { TenantUser } from '../../gen/api.js';
import { client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { time } from '../lib/format.js';
import { Heading } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { Tag } from './shown.js';
import { useUserActions } from './user-actions.js';

export default function Users() {
  const t = useAdmin();
  const common = useCommon();
  const word = useWord();
  const actions = useUserActions();
  const menu = (user: TenantUser) => {
    const list = actions(user);
    return list.length > 0 && (
      <Menu position="bottom-end">
        <Menu.Target><Button size="compact-xs" variant="default" aria-label={t('actionsOn', { name: user.name || user.email })}>…</Button></Menu.Target>
        <Menu.Dropdown>{list.map(({ label, run }) => <Menu.Item key={label} onClick={run}>{label}</Menu.Item>)}</Menu.Dropdown>
      </Menu>
    );
  };
  return (
    <>
      <Heading title={t('users')} />
      <AdminList name="users" label={t('users')} empty={t('noUsers')} get={(query) => client.GET('/v1/admin/users', { params: { query } })}
        filters={[{ key: 'q', label: common('search') }, { key: 'tenantId', label: t('tenantID') }]}
        link={({ id }) => `/users/${id}`} actions={menu}
        columns={[
          { key: 'name', title: common('name'), value: ({ name, email }) => name || email },
          { key: 'email', title: common('email'), value: ({ email }) => email, wide: true },
          { key: 'tenant', title: t('tenant'), value: ({ tenantName }) => tenantName,
            render: ({ tenantId, tenantName }) => <Link className="link" to={`/tenants/${tenantId}` as never}>{tenantName}</Link> },
          { key: 'role', title: common('role'), value: ({ role }) => role, render: ({ role }) => word(role), wide: true },
          { key: 'status', title: common('status'), value: ({ status }) => status, wide: true,
            render: ({ status }) => <Tag of={status} /> },
          { key: 'login', title: t('lastLogin'), value: ({ lastLoginAt }) => lastLoginAt, wide: true,
            render: ({ lastLoginAt }) => time(lastLoginAt) },
        ]} />
    </>
  );
}
