import type { ConnectStatus } from '../../gen/api.js';
import { api } from '../lib/api.js';
import { useMay } from './identity.js';

export type SellerState = 'notBegun' | 'incomplete' | 'checking' | 'restricted' | 'ready';

// The server knows three facts only. A payment page was made only while charges were enabled: with one, the account is restricted, and
// not in its first review.
function stateOf({ processorAccountId, onboarded, chargesEnabled }: ConnectStatus, hadPages: boolean): SellerState {
  if (chargesEnabled) return 'ready';
  if (!processorAccountId) return 'notBegun';
  if (hadPages) return 'restricted';
  return onboarded ? 'checking' : 'incomplete';
}

const statusPath = '/v1/me/commerce/connect/status';
const recentOrders = 50;

// The tenant's state as a seller. While charges aren't enabled, it is read again after some time.
export function useSeller(everyMs: number) {
  const reads = useMay()('commerce:read');
  const query = api.useQuery('get', statusPath, {}, {
    enabled: reads, refetchInterval: ({ state }) => (state.data?.chargesEnabled ? false : everyMs),
  });
  const status = query.data;
  const asks = !!status?.processorAccountId && !status.chargesEnabled;
  const orders = api.useQuery('get', '/v1/me/commerce/orders', { params: { query: { limit: recentOrders } } }, { enabled: asks });
  const settled = !asks || orders.isFetched;
  const hadPages = orders.data?.some(({ checkoutUrl, paidAt }) => checkoutUrl !== null || paidAt !== null) ?? false;
  return { query, status, state: status && settled ? stateOf(status, hadPages) : undefined };
}
