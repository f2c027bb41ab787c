import { createContext, useContext } from 'react';

import type { Identity, operations, Scope } from '../../gen/api.js';

export const IdentityContext = createContext<Identity | null>(null);

export function useIdentity(): Identity {
  const identity = useContext(IdentityContext);
  if (!identity) throw new Error('a screen is outside the sign-in');
  return identity;
}

// Reports whether the user's role has a scope. The server checks it again.
export function useMay(): (scope: Scope) => boolean {
  const { scopes, impersonation } = useIdentity();
  return (scope) => scopes.includes(scope) && !(impersonation?.readOnly && scope.endsWith(':write'));
}

// Operations that the server refuses to an admin who acts for the tenant, with their scopes. Those with null are a user's own.
const refusedToAdmins = {
  createStream: 'streams:write', rotateStreamKey: 'streams:write', createPlaybackUrl: 'streams:read', createSessionToken: 'sessions:write',
  refundOrder: 'commerce:write', createOnboardingLink: 'billing:write', createSfuToken: 'streams:write',
  createApiKey: 'keys:write', createWebhook: 'webhooks:write', updateWebhook: 'webhooks:write',
  rotateWebhookSecret: 'webhooks:write', createCaptureUrl: 'webhooks:write', setIosPushCredentials: 'push:write',
  setCloudPushCredentials: 'push:write', inviteTeamMember: 'team:write', removeTeamMember: 'team:write', changeTeamMemberRole: 'team:write',
  disableTeamMemberTotp: 'team:write',
  createBillingCheckout: 'billing:write', createBillingPortal: 'billing:write', updateSubscription: 'billing:write', setSpendCap: 'billing:write',
  createTicket: 'support:write', addTicketMessage: 'support:write', closeTicket: 'support:write', dismissAnnouncement: 'support:read',
  createRestreamTarget: 'restream:write', updateRestreamTarget: 'restream:write', attachRestreamTargets: 'restream:write',
  inviteCall: 'sessions:write', answerCall: 'sessions:write',
  changePassword: null, beginTotp: null, disableTotp: null, renewRecoveryCodes: null, endSignIn: null, endOtherSignIns: null,
} as const satisfies Partial<Record<keyof operations, Scope | null>>;

// Reports whether such an operation is offered.
export function useMayCall(): (operation: keyof typeof refusedToAdmins) => boolean {
  const { user, impersonation } = useIdentity();
  const may = useMay();
  return (operation) => {
    const scope = refusedToAdmins[operation];
    return !impersonation && (scope === null ? user !== null : may(scope));
  };
}
