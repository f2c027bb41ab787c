import { Alert, Button, Select, Text, Textarea } from '@mantine/core';
import { useState } from 'react';

import type { TenantSummary, User } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { FormModal, useChange } from '../lib/parts.js';
import { useAdminTenant } from '../messages/admin-tenant.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';

// Opens the console with the token of an impersonation. The token is in the fragment of the address, which browsers don't send to servers. The
// tab is opened by the click, since browsers block tabs that are opened later.
function openTab(): Window | null {
  return window.open('about:blank', '_blank');
}

function goTo(tab: Window, token: string) {
  tab.opener = null;
  tab.location.replace(`${location.origin}/console/impersonate#token=${encodeURIComponent(token)}`);
}

// Gets a token and opens the console with it in a new tab. start is called by a click.
function useActing(issue: () => Promise<{ token: string }>, after?: () => void) {
  const t = useAdminTenant();
  const [blocked, setBlocked] = useState(false);
  const change = useChange(async (tab: Window) => {
    try {
      goTo(tab, (await issue()).token);
    } catch (error) {
      tab.close();
      throw error;
    }
  }, { shows: true, done: t('openedTab'), after });
  const start = () => {
    const tab = openTab();
    setBlocked(!tab);
    if (tab) change.mutate(tab);
  };
  return { start, blocked, busy: change.isPending, error: change.error };
}

// Opens the console as the app.
export function ActAsAppButton({ id }: { id: string }) {
  const t = useAdminTenant();
  const [open, setOpen] = useState(false);
  const acting = useActing(() => unwrap(client.POST('/v1/admin/first-party-apps/{id}/impersonate', { params: { path: { id } } })), () => setOpen(false));
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>{t('actAsApp')}</Button>
      <FormModal title={t('actAsApp')} open={open} close={() => setOpen(false)} submit={acting.start} busy={acting.busy} error={acting.error}
        action={t('actAsApp')}>
        <Text size="sm">{t('actAsAppText')}</Text>
        {acting.blocked && <Alert variant="outline" color="red" role="alert">{t('blockedTab')}</Alert>}
      </FormModal>
    </>
  );
}

export function ImpersonateButton({ tenant, users }: { tenant: TenantSummary; users: User[] }) {
  const t = useAdminTenant();
  const common = useCommon();
  const word = useWord();
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState('');
  const [userId, setUser] = useState('');
  const acting = useActing(() => {
    const body = { reason, ...(userId && { userId }) };
    return unwrap(client.POST('/v1/admin/tenants/{id}/impersonate', { params: { path: { id: tenant.id } }, body }));
  }, () => { setOpen(false); setReason(''); });
  const active = users.filter(({ status }) => status === 'ACTIVE').map(({ id, name, role }) => ({ value: id,
    label: `${name} · ${word(role)}` }));
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>{t('impersonate')}</Button>
      <FormModal title={t('impersonate')} open={open} close={() => setOpen(false)} submit={acting.start} busy={acting.busy}
        error={acting.error} action={t('impersonate')}>
        <Text size="sm">{t('impersonateText')}</Text>
        {(tenant.status === 'SUSPENDED' || tenant.status === 'CANCELLED') && <Alert variant="outline"
          color="orange">{t('readOnly')}</Alert>}
        <Select label={t('impersonateUser')} value={userId} allowDeselect={false} data={[{ value: '', label: t('firstOwner') }, ...active]}
          onChange={(next) => setUser(next ?? '')} />
        <Textarea label={common('reason')} name="reason" required maxLength={500} value={reason} data-autofocus
          onChange={(event) => setReason(event.currentTarget.value)} />
        {acting.blocked && <Alert variant="outline" color="red" role="alert">{t('blockedTab')}</Alert>}
      </FormModal>
    </>
  );
}
