package tenancy

import (
	"slices"
	"time"

	"showfloor/internal/tenancy/audit"
)

// Participant identifies the room's participant of a participant token.
type Participant struct {
	// RoomID is the session's or stream's id.
	RoomID string
	// UserID is the user's id in the tenant's own system.
	UserID string
}

// Impersonation is an admin of the platform who acts in the name of a tenant's user.
type Impersonation struct {
	AdminID, AdminEmail string
	// TokenID is the id of the token with which the admin acts.
	TokenID string
	// ReadOnly: the tenant was suspended or cancelled when the token was made.
	ReadOnly bool
	// ExpiresAt is when the token expires.
	ExpiresAt time.Time
}

// Caller makes a request: it is a user, an API key or a participant of one tenant.
type Caller struct {
	TenantID string
	// Exactly one of these three is set, or none for an admin who impersonates a first-party app. A participant has neither role
	// nor scopes here; its permissions are in its row.
	UserID, APIKeyID string
	Participant      *Participant
	// SignInID is the login to which the user's token belongs; empty for tokens without one.
	SignInID string
	// Impersonation is nil unless an admin acts with the token.
	Impersonation *Impersonation
	Role          Role
	Scopes        []Scope
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

// Holder identifies the credential's holder among all callers: an admin who impersonates a user is another one than the user.
func (c Caller) Holder() string {
	if c.Impersonation != nil {
		return c.UserID + "/" + c.Impersonation.AdminID
	}
	return c.UserID + c.APIKeyID
}

// Actor is the caller in the audit log. A first-party app, which has no users, acts with its tenant's id.
func (c Caller) Actor() audit.Actor {
	a := audit.Actor{Type: "user", ID: c.UserID, IP: c.IP, RequestID: c.RequestID}
	if c.Impersonation != nil {
		a.ImpersonatorID, a.ImpersonationID = c.Impersonation.AdminID, c.Impersonation.TokenID
	}
	switch {
	case c.UserID == "" && c.Impersonation != nil:
		a.ID = c.TenantID
	case c.APIKeyID != "":
		a.Type, a.ID = "api_key", c.APIKeyID
	case c.Participant != nil:
		a.Type, a.ID = "participant", c.Participant.UserID
	}
	return a
}
