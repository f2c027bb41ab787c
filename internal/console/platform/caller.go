// Package platform holds the terms of the platform's admins: roles, scopes and the calling admin. The use
// cases are in console.
package platform

import (
	"slices"

	"showfloor/internal/tenancy/audit"
)

// Role is the role of an admin of the platform.
type Role string

// The roles.
const (
	SuperAdmin Role = "SUPER_ADMIN"
	Support    Role = "SUPPORT"
	Billing    Role = "BILLING"
)

// Scope is one permission. Each admin operation names the scopes that it needs.
type Scope string

// The scopes, in the order in which they are shown.
const (
	AdminRead    Scope = "admin:read"
	AdminWrite   Scope = "admin:write"
	AdminSupport Scope = "admin:support"
	AdminBilling Scope = "admin:billing"
)

// Roles lists the roles; the one with the most permissions comes first.
func Roles() []Role { return []Role{SuperAdmin, Support, Billing} }

// Scopes lists the scopes of a role; none for an unknown role.
func (r Role) Scopes() []Scope {
	switch r {
	case SuperAdmin:
		return []Scope{AdminRead, AdminWrite, AdminSupport, AdminBilling}
	case Support:
		return []Scope{AdminRead, AdminSupport}
	case Billing:
		return []Scope{AdminRead, AdminBilling}
	default:
		return nil
	}
}

// Caller is the admin who makes a request.
type Caller struct {
	AdminID, Email string
	Role           Role
	// SignInID is the login to which the token belongs; empty for tokens of earlier releases.
	SignInID string
	// TokenVersion is the version of the admin's tokens.
	TokenVersion int32
	// IP and RequestID are the request's, for the audit log.
	IP, RequestID string
}

// May reports whether the caller has all of the scopes.
func (c Caller) May(scopes ...Scope) bool {
	for _, s := range scopes {
		if !slices.Contains(c.Role.Scopes(), s) {
			return false
		}
	}
	return true
}

// Actor returns the caller as an actor for the audit log.
func (c Caller) Actor() audit.Actor {
	return audit.Actor{Type: "admin", ID: c.AdminID, IP: c.IP, RequestID: c.RequestID}
}
