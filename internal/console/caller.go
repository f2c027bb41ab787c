package console

import (
	"slices"

	"showfloor/internal/audit"
)

// Role is what somebody who runs the platform may do.
type Role string

// The roles.
const (
	SuperAdmin Role = "SUPER_ADMIN"
	Support    Role = "SUPPORT"
	Billing    Role = "BILLING"
)

// Scope is one right; the admin operations name those that they need.
type Scope string

// The scopes, in the order in which they are shown.
const (
	AdminRead    Scope = "admin:read"
	AdminWrite   Scope = "admin:write"
	AdminSupport Scope = "admin:support"
	AdminBilling Scope = "admin:billing"
)

// Roles lists the roles, the mightiest first.
func Roles() []Role { return []Role{SuperAdmin, Support, Billing} }

// Scopes lists what a role may do; nothing for an unknown one.
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
	AdminID string
	Role    Role
	// IP and RequestID are those of the request, for the audit log.
	IP, RequestID string
}

// May tells whether the caller has all of the scopes.
func (c Caller) May(scopes ...Scope) bool {
	for _, s := range scopes {
		if !slices.Contains(c.Role.Scopes(), s) {
			return false
		}
	}
	return true
}

// Actor is the caller in the audit log.
func (c Caller) Actor() audit.Actor {
	return audit.Actor{Type: "admin", ID: c.AdminID, IP: c.IP, RequestID: c.RequestID}
}
