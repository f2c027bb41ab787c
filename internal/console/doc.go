// Package console holds the use cases of the platform's admins: their accounts, tenants and users, suspensions
// and the audit log. Below it, platform has their roles and scopes, and alert mails the operator.
//
//   - An admin is a person of the platform, not of a tenant, and has roles of its own.
//   - A Stopper is an area that ends a suspended tenant's activities.
//
// The group may import base, tenancy and streams.
package console
