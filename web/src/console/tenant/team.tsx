import { Button, Menu, Select, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';

import type { TeamMember, UserRole } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useCursorList } from '../lib/cursor.js';
import { CursorList } from '../lib/cursor-list.js';
import { time } from '../lib/format.js';
import { Empty, FormModal, Heading, Status, useChange, useConfirm } from '../lib/parts.js';
import { fieldErrors } from '../lib/problem.js';
import { useCommon } from '../messages/common.js';
import { useConsole } from '../messages/console.js';
import { useStates } from '../messages/states.js';
import { useIdentity, useMayCall } from './identity.js';

const roles: UserRole[] = ['OWNER', 'ADMIN', 'DEVELOPER', 'VIEWER'];

export default function Team() {
  const t = useConsole();
  const common = useCommon();
  const states = useStates();
  const mayCall = useMayCall();
  const { user } = useIdentity();
  const confirm = useConfirm();
  const [inviting, setInviting] = useState(false);
  const list = useCursorList<TeamMember>(['team'], (query, signal) => client.GET('/v1/me/team', { params: { query }, signal }));
  const disable = useChange((id: string) => unwrap(client.DELETE('/v1/me/team/{id}/totp', { params: { path: { id } } })), { done: common('done') });
  const remove = useChange((id: string) => unwrap(client.DELETE('/v1/me/team/{id}', { params: { path: { id } } })), { done: common('done') });
  const change = useChange(({ id, role }: { id: string; role: UserRole }) => (
    unwrap(client.PATCH('/v1/me/team/{id}/role', { params: { path: { id } }, body: { role } }))
  ), { done: common('saved') });
  return (
    <Stack gap={0}>
      <Heading title={t('team')}>{mayCall('inviteTeamMember') && <Button size="xs" onClick={() => setInviting(true)}>{t('invite')}</Button>}</Heading>
      <CursorList name="team" label={t('team')} list={list}
        empty={<Empty text={t('noTeam')} />}
        columns={[
          { key: 'name', title: common('name'), value: ({ name, email }) => name || email },
          { key: 'role', title: common('role'), value: ({ role }) => role, render: ({ id, role, name }) => (mayCall('changeTeamMemberRole') && id !== user?.id
            ? <Select size="xs" aria-label={`${common('role')}: ${name}`} w={130} data={roles.map((value) => ({ value, label: states(value) }))} value={role} allowDeselect={false}
                onChange={(next) => { if (next) change.mutate({ id, role: next as UserRole }); }} />
            : states(role)) },
          { key: 'email', title: common('email'), value: ({ email }) => email, wide: true },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Status of={status} label={states(status)} />, wide: true },
          { key: 'login', title: t('lastLogin'), value: ({ lastLoginAt }) => lastLoginAt, render: ({ lastLoginAt }) => time(lastLoginAt), wide: true },
        ]}
        actions={({ id, name, email }) => mayCall('removeTeamMember') && id !== user?.id && (
          <Menu position="bottom-end">
            <Menu.Target><Button size="compact-xs" variant="default" aria-label={t('actionsOn', { name: name || email })}>…</Button></Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => confirm(t('disableTotp'), t('disableTotpText'), () => disable.mutate(id))}>{t('disableTotp')}</Menu.Item>
              <Menu.Item color="var(--mantine-color-error)" onClick={() => confirm(t('remove'), t('removeMember'), () => remove.mutate(id))}>{t('remove')}</Menu.Item>
            </Menu.Dropdown>
          </Menu>
        )} />
      <Invite open={inviting} close={() => setInviting(false)} />
    </Stack>
  );
}

function Invite({ open, close }: { open: boolean; close: () => void }) {
  const t = useConsole();
  const common = useCommon();
  const states = useStates();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<UserRole>('DEVELOPER');
  const invite = useChange(() => unwrap(client.POST('/v1/me/team', { body: { email, role } })), {
    shows: true, done: t('invited'), after: () => { setEmail(''); close(); },
  });
  return (
    <FormModal title={t('invite')} open={open} close={close} submit={() => invite.mutate(undefined)} busy={invite.isPending} error={invite.error} action={t('invite')}>
      <TextInput label={common('email')} type="email" name="email" required value={email} data-autofocus error={fieldErrors(invite.error).email}
        onChange={(event) => setEmail(event.currentTarget.value)} />
      <Select label={common('role')} data={roles.map((value) => ({ value, label: states(value) }))} value={role} allowDeselect={false} onChange={(next) => setRole(next as UserRole)} />
    </FormModal>
  );
}
