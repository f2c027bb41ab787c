import { visible, type PlaceGroup } from '../lib/places.js';
import { useAdmin } from '../messages/admin.js';

// Pages of the admin console.
export function usePlaces(): PlaceGroup[] {
  const t = useAdmin();
  return visible([
    { places: [{ path: '/', label: t('dashboard') }, { path: '/reports', label: t('reports') }] },
    { label: t('groupCustomers'), places: [
      { path: '/tenants', label: t('tenants') },
      { path: '/users', label: t('users') },
      { path: '/tickets', label: t('tickets') },
      { path: '/announcements', label: t('announcements') },
      { path: '/compliance', label: t('compliance') },
    ] },
    { label: t('groupMoney'), places: [
      { path: '/plans', label: t('plans') },
      { path: '/subscriptions', label: t('subscriptions') },
      { path: '/invoices', label: t('invoices') },
    ] },
    { label: t('groupStreaming'), places: [
      { path: '/live', label: t('liveWall') },
      { path: '/streams', label: t('streams') },
      { path: '/recordings', label: t('recordings') },
      { path: '/bandwidth', label: t('bandwidth') },
    ] },
    { label: t('groupDevelopers'), places: [
      { path: '/webhooks', label: t('webhooks') },
      { path: '/usage', label: t('devActivity') },
      { path: '/apps', label: t('apps') },
    ] },
    { label: t('groupSystem'), places: [
      { path: '/settings', label: t('settings') },
      { path: '/jobs', label: t('jobs') },
      { path: '/health', label: t('health') },
      { path: '/audit', label: t('audit') },
      { path: '/security', label: t('security') },
    ] },
  ]);
}
