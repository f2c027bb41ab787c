// Package tenancy holds the terms that all areas share: the caller (Caller, Origin), its permissions
// (Role, Scope), and the status of tenants (CheckTenant). Below it are the areas that all other areas
// use: users, keys and login (account), signed tokens (signing), Idempotency-Keys (idempotency), plans and
// their limits (quota), used minutes and bytes (usage), the audit log (audit), mails (mail) and the
// settings of admins (setting).
//
//   - A tenant is a company that uses the platform. All its rows have its tenant_id.
//   - A user belongs to a tenant and has a Role; an API key and a token carry Scopes.
//   - A participant is a user in a tenant's room; the tenant's own system knows the person.
//
// The group may import base.
package tenancy
