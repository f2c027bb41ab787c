import { catalogue } from '../lib/i18n.js';
import { adminTenantDe } from './admin-tenant.de.js';
import { adminTenantEn } from './admin-tenant.en.js';

export const useAdminTenant = catalogue(adminTenantEn, adminTenantDe);
