package tenancy

import (
	"slices"

	"showfloor/internal/tenancy/audit"
)

// Participant identifies the room's participant of a participant token.
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
	// IP and RequestID are the request's, for the audit log.
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
