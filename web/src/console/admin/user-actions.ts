import type { TenantUser } from '../../gen/api.js';
import { client, unwrap } from '../lib/api.js';
import { useChange, useConfirm } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useAdminPeople } from '../messages/admin-people.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';

interface UserAction { label: string; run: () => void; danger?: boolean }

// The actions on a user that the admin's role and the user's status allow. Those that can't be undone ask first.
export function useUserActions(): (user: TenantUser, afterDelete?: () => void) => UserAction[] {
  const t = useAdmin();
  const people = useAdminPeople();
  const common = useCommon();
  const may = useMay();
  const confirm = useConfirm();
  const at = (id: string) => ({ params: { path: { id } } });
  const done = { done: common('done') };
  const deactivate = useChange((id: string) => unwrap(client.POST('/v1/admin/users/{id}/deactivate', at(id))), done);
  const activate = useChange((id: string) => unwrap(client.POST('/v1/admin/users/{id}/activate', at(id))), done);
  const reset = useChange((id: string) => unwrap(client.POST('/v1/admin/users/{id}/reset-password', at(id))), done);
  const disable = useChange((id: string) => unwrap(client.DELETE('/v1/admin/users/{id}/totp', at(id))), done);
  const remove = useChange((id: string) => unwrap(client.DELETE('/v1/admin/users/{id}', at(id))), done);
  return ({ id, status }, afterDelete) => {
    if (!may('admin:write')) return [];
    const asks = (label: string, text: string, run: () => void, danger = false): UserAction => (
      { label, danger, run: () => confirm(label, text, run) }
    );
    const removal = asks(people('remove'), people(status === 'INVITED' ? 'removeInvited' : 'removeText'),
      () => remove.mutate(id, { onSuccess: () => afterDelete?.() }), true);
    if (status === 'INVITED') return [removal];
    return [
      ...(status === 'ACTIVE' ? [asks(t('resetPassword'), people('resetText'), () => reset.mutate(id))] : []),
      asks(t('disableTotp'), t('disableTotpText'), () => disable.mutate(id)),
      status === 'DEACTIVATED' ? { label: t('activate'), run: () => activate.mutate(id) }
        : asks(t('deactivate'), t('deactivateText'), () => deactivate.mutate(id)),
      removal,
    ];
  };
}
