package account

import (
	"slices"

	"showfloor/internal/audit"
)

// Role is what a user may do in a tenant.
type Role string

// The roles. An API key acts as a DEVELOPER, narrowed by its scopes.
const (
	Owner     Role = "OWNER"
	Admin     Role = "ADMIN"
	Developer Role = "DEVELOPER"
	Viewer    Role = "VIEWER"
)

// Scope is one right; the operations of the API name those that they need.
type Scope string

// The scopes in use.
const (
	AccountRead   Scope = "account:read"
	StreamsRead   Scope = "streams:read"
	StreamsWrite  Scope = "streams:write"
	KeysRead      Scope = "keys:read"
	KeysWrite     Scope = "keys:write"
	WebhooksRead  Scope = "webhooks:read"
	WebhooksWrite Scope = "webhooks:write"
)

// Scopes lists what a role may do, in the order in which it is shown.
func (r Role) Scopes() []Scope {
	read := []Scope{AccountRead, StreamsRead, KeysRead, WebhooksRead}
	switch r {
	case Owner, Admin, Developer:
		return []Scope{AccountRead, StreamsRead, StreamsWrite, KeysRead, KeysWrite, WebhooksRead, WebhooksWrite}
	case Viewer:
		return read
	default:
		return nil
	}
}

// Caller is who makes a request: a user or an API key of one tenant.
type Caller struct {
	TenantID string
	// One of the two is set.
	UserID, APIKeyID string
	Role             Role
	Scopes           []Scope
	// IP and RequestID are those of the request, for the audit log.
	IP, RequestID string
}

// May tells whether the caller has all of the scopes.
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
	if c.APIKeyID != "" {
		a.Type, a.ID = "api_key", c.APIKeyID
	}
	return a
}
