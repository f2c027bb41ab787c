package tenancy

import "slices"

// Role determines what a user may do in a tenant.
type Role string

// The roles. An API key acts as a DEVELOPER, narrowed by its scopes.
const (
	Owner     Role = "OWNER"
	Admin     Role = "ADMIN"
	Developer Role = "DEVELOPER"
	Viewer    Role = "VIEWER"
)

// Roles lists the roles, the one with the most permissions first.
func Roles() []Role {
	return []Role{Owner, Admin, Developer, Viewer}
}

// Scope is one permission; each operation of the API lists the scopes that it
// needs.
type Scope string

// The scopes, in display order.
const (
	AccountRead     Scope = "account:read"
	TenantWrite     Scope = "tenant:write"
	TeamRead        Scope = "team:read"
	TeamWrite       Scope = "team:write"
	StreamsRead     Scope = "streams:read"
	StreamsWrite    Scope = "streams:write"
	RecordingsRead  Scope = "recordings:read"
	RecordingsWrite Scope = "recordings:write"
	ChatRead        Scope = "chat:read"
	ChatWrite       Scope = "chat:write"
	SessionsRead    Scope = "sessions:read"
	SessionsWrite   Scope = "sessions:write"
	CatalogRead     Scope = "catalog:read"
	CatalogWrite    Scope = "catalog:write"
	CommerceRead    Scope = "commerce:read"
	CommerceWrite   Scope = "commerce:write"
	RestreamRead    Scope = "restream:read"
	RestreamWrite   Scope = "restream:write"
	PushRead        Scope = "push:read"
	PushWrite       Scope = "push:write"
	KeysRead        Scope = "keys:read"
	KeysWrite       Scope = "keys:write"
	WebhooksRead    Scope = "webhooks:read"
	WebhooksWrite   Scope = "webhooks:write"
	BillingRead     Scope = "billing:read"
	BillingWrite    Scope = "billing:write"
	SupportRead     Scope = "support:read"
	SupportWrite    Scope = "support:write"
)

// Scopes lists the role's scopes, in display order.
func (r Role) Scopes() []Scope {
	var list []Scope
	for _, g := range grants() {
		if slices.Contains(g.roles, r) {
			list = append(list, g.scope)
		}
	}
	return list
}

// grant says which roles have a scope.
type grant struct {
	scope Scope
	roles []Role
}

func grants() []grant {
	allRoles := []Role{Owner, Admin, Developer, Viewer}
	builders := []Role{Owner, Admin, Developer}
	leaders := []Role{Owner, Admin}
	return []grant{
		{AccountRead, allRoles},
		{TenantWrite, leaders},
		{TeamRead, allRoles},
		{TeamWrite, leaders},
		{StreamsRead, allRoles},
		{StreamsWrite, builders},
		{RecordingsRead, allRoles},
		{RecordingsWrite, builders},
		{ChatRead, allRoles},
		{ChatWrite, builders},
		{SessionsRead, allRoles},
		{SessionsWrite, builders},
		{CatalogRead, allRoles},
		{CatalogWrite, builders},
		{CommerceRead, allRoles},
		{CommerceWrite, builders},
		{RestreamRead, allRoles},
		{RestreamWrite, builders},
		{PushRead, allRoles},
		{PushWrite, builders},
		{KeysRead, allRoles},
		{KeysWrite, builders},
		{WebhooksRead, allRoles},
		{WebhooksWrite, builders},
		{BillingRead, allRoles},
		{BillingWrite, leaders},
		{SupportRead, allRoles},
		{SupportWrite, builders},
	}
}
