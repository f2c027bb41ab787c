import { client, unwrap } from '../lib/api.js';
import { useChange, useConfirm } from '../lib/parts.js';
import { useAdminSystem } from '../messages/admin-system.js';
import { useCommon } from '../messages/common.js';

// Sends a delivery again, after a question.
export function useRetry(): (id: string) => void {
  const t = useAdminSystem();
  const common = useCommon();
  const confirm = useConfirm();
  const retry = useChange((id: string) => unwrap(client.POST('/v1/admin/webhooks/deliveries/{id}/retry', { params: { path: { id } } })),
    { done: common('done') });
  return (id) => confirm(t('retryNow'), t('retryText'), () => retry.mutate(id));
}
