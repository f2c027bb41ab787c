// Package access computes which caller may call which operation of the API
// document: the operation's security, applied to the scopes of each role. The
// result is a table in gen/roles.md, and a test compares the server with it.
package access

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
)

// Kind is a kind of credential.
type Kind int

const (
	// Nothing is no credential at all.
	Nothing Kind = iota
	// Key is an API key.
	Key
	// User is a tenant user's token.
	User
	// Admin is an admin's token.
	Admin
	// Participant is the token of a participant of a room.
	Participant
)

// Party is a kind of caller.
type Party struct {
	Name string
	Kind Kind
	// Role is the user's, AdminRole the admin's.
	Role      tenancy.Role
	AdminRole platform.Role
	// Scopes are the key's or the role's.
	Scopes []string
}

// Parties lists all kinds of callers: without a credential, the keys without and
// with all scopes, every role, and a participant, whose role and permissions
// only the operation itself checks.
func Parties() []Party {
	list := []Party{
		{Name: "nobody", Kind: Nothing},
		{Name: "key without scopes", Kind: Key},
		{Name: "key with all scopes", Kind: Key, Scopes: texts(tenancy.Developer.Scopes())},
	}
	for _, role := range slices.Backward(tenancy.Roles()) {
		list = append(list, Party{Name: string(role), Kind: User, Role: role, Scopes: texts(role.Scopes())})
	}
	for _, role := range slices.Backward(platform.Roles()) {
		list = append(list, Party{Name: string(role), Kind: Admin, AdminRole: role, Scopes: texts(role.Scopes())})
	}
	return append(list, Party{Name: "participant", Kind: Participant})
}

func texts[S ~string](scopes []S) []string {
	list := make([]string, len(scopes))
	for i, s := range scopes {
		list[i] = string(s)
	}
	return list
}

// Decision is the result of the authorization.
type Decision int

const (
	// Unauthenticated means that the operation doesn't accept the credential; 401.
	Unauthenticated Decision = iota
	// Forbidden means that the operation accepts the credential, but a scope is
	// missing; 403.
	Forbidden
	// Allowed means that the caller is authorized. The operation itself may
	// still refuse.
	Allowed
)

// Decide returns the document's decision for a party at an operation. One
// alternative of the operation's security must hold.
func Decide(security openapi3.SecurityRequirements, p Party) Decision {
	if len(security) == 0 {
		return Allowed
	}
	best := Unauthenticated
	for _, alternative := range security {
		for scheme, scopes := range alternative {
			best = max(best, decide(scheme, scopes, p))
		}
	}
	return best
}

func decide(scheme string, scopes []string, p Party) Decision {
	if !slices.Contains(takes(scheme), p.Kind) {
		return Unauthenticated
	}
	for _, scope := range scopes {
		if !slices.Contains(p.Scopes, scope) {
			return Forbidden
		}
	}
	return Allowed
}

// takes lists the credentials that a scheme accepts. It is empty for the schemes of
// media servers, workers and the payment processor, whose credentials are not in Kind.
func takes(scheme string) []Kind {
	switch scheme {
	case "tenantToken":
		return []Kind{Key, User}
	case "userToken":
		return []Kind{User}
	case "adminToken":
		return []Kind{Admin}
	case "participantToken":
		return []Kind{Participant}
	default:
		return nil
	}
}
