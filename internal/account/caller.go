package account

import (
	"slices"

	"showfloor/internal/audit"
)

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
func Roles() []Role { return []Role{Owner, Admin, Developer, Viewer} }

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
	everybody := []Role{Owner, Admin, Developer, Viewer}
	builders := []Role{Owner, Admin, Developer}
	leaders := []Role{Owner, Admin}
	return []grant{
		{AccountRead, everybody},
		{TenantWrite, leaders},
		{TeamRead, everybody},
		{TeamWrite, leaders},
		{StreamsRead, everybody},
		{StreamsWrite, builders},
		{RecordingsRead, everybody},
		{RecordingsWrite, builders},
		{ChatRead, everybody},
		{ChatWrite, builders},
		{SessionsRead, everybody},
		{SessionsWrite, builders},
		{CatalogRead, everybody},
		{CatalogWrite, builders},
		{CommerceRead, everybody},
		{CommerceWrite, builders},
		{RestreamRead, everybody},
		{RestreamWrite, builders},
		{PushRead, everybody},
		{PushWrite, builders},
		{KeysRead, everybody},
		{KeysWrite, builders},
		{WebhooksRead, everybody},
		{WebhooksWrite, builders},
		{BillingRead, everybody},
		{BillingWrite, leaders},
	}
}

// Participant is the participant of a room that a participant token stands for.
type Participant struct {
	// RoomID is the session's or stream's id.
	RoomID string
	// UserID is the user's id in the tenant's own system.
	UserID string
}

// Caller makes a request: it is a user, an API key or a participant of one tenant.
type Caller struct {
	TenantID string
	// Exactly one of these three is set. A participant has neither role nor scopes
	// here; its permissions are in its row.
	UserID, APIKeyID string
	Participant      *Participant
	Role             Role
	Scopes           []Scope
	// IP and RequestID are those of the request, for the audit log.
	IP, RequestID string
}

// May reports whether the caller has all of the scopes.
func (c Caller) May(scopes ...Scope) bool {
	for _, s := range scopes {
		if !slices.Contains(c.Scopes, s) {
			return false
		}
	}
	return true
}

// Actor is the caller in the audit log.
func (c Caller) Actor() audit.Actor {
	a := audit.Actor{Type: "user", ID: c.UserID, IP: c.IP, RequestID: c.RequestID}
	switch {
	case c.APIKeyID != "":
		a.Type, a.ID = "api_key", c.APIKeyID
	case c.Participant != nil:
		a.Type, a.ID = "participant", c.Participant.UserID
	}
	return a
}
