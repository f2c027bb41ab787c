import type { OrderStatus } from '../../gen/api.js';
import { Status } from '../lib/parts.js';
import { useSelling } from '../messages/selling.js';

export const orderStatuses: OrderStatus[] = ['PENDING', 'REVIEW', 'PAID', 'FULFILLED', 'PARTIALLY_REFUNDED', 'REFUNDED', 'EXPIRED'];

export function OrderState({ of }: { of: OrderStatus }) {
  const t = useSelling();
  return <Status of={of} label={t(of)} />;
}
