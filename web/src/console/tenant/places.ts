import type { Scope } from '../../gen/api.js';
import { visible, type PlaceGroup } from '../lib/places.js';
import { useConsole } from '../messages/console.js';

// Pages of the console that the scopes allow. The audit log is refused to a token that acts for no user.
export function usePlaces(may: (scope: Scope) => boolean, isUser: boolean): PlaceGroup[] {
  const t = useConsole();
  return visible([
    { places: [
      { path: '/', label: t('overview') },
      may('account:read') && { path: '/analytics', label: t('analytics') },
    ] },
    { label: t('groupStreaming'), places: [
      may('streams:read') && { path: '/streams', label: t('streams') },
      may('recordings:read') && { path: '/recordings', label: t('recordings') },
      may('restream:read') && { path: '/restream', label: t('restream') },
    ] },
    { label: t('groupSessions'), places: [
      may('sessions:read') && { path: '/sessions', label: t('sessions') },
      may('chat:read') && { path: '/channels', label: t('channels') },
    ] },
    { label: t('groupSelling'), places: [
      may('catalog:read') && { path: '/catalog', label: t('catalog') },
      may('commerce:read') && { path: '/orders', label: t('orders') },
      may('commerce:read') && { path: '/auctions', label: t('auctions') },
      may('commerce:read') && { path: '/discounts', label: t('discounts') },
      may('streams:read') && { path: '/shopping', label: t('shopping') },
      may('commerce:read') && { path: '/payments', label: t('payments') },
    ] },
    { label: t('groupDevelopers'), places: [
      may('webhooks:read') && { path: '/webhooks', label: t('webhooks') },
      may('webhooks:read') && { path: '/webhook-tester', label: t('webhookTester') },
      may('push:read') && { path: '/push', label: t('push') },
      may('keys:read') && { path: '/keys', label: t('keys') },
    ] },
    { label: t('groupOrganisation'), places: [
      may('team:read') && { path: '/team', label: t('team') },
      may('billing:read') && { path: '/billing', label: t('billing') },
      may('support:read') && { path: '/support', label: t('support') },
      isUser && may('tenant:write') && { path: '/audit', label: t('audit') },
      { path: '/security', label: t('security') },
      { path: '/settings', label: t('settings') },
    ] },
  ]);
}
