// Package access tells who may call which operation of the API document: the
// operation's security, met with the scopes of each role. What it says is
// written down for people, and the server is tested against it.
package access

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"showfloor/internal/account"
	"showfloor/internal/console"
)

// Kind is what a party calls with.
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
	// Participant is the token of somebody in a room.
	Participant
)

// Party is somebody who calls.
type Party struct {
	Name string
	Kind Kind
	// Role is the user's, AdminRole the admin's.
	Role      account.Role
	AdminRole console.Role
	// Scopes are those of the key or of the role.
	Scopes []string
}

// Parties lists all kinds of callers: nobody, the weakest and the mightiest key,
// every role, and the host of a room, whose own role and standing the operation
// looks at.
func Parties() []Party {
	list := []Party{
		{Name: "nobody", Kind: Nothing},
		{Name: "key without scopes", Kind: Key},
		{Name: "key with all scopes", Kind: Key, Scopes: texts(account.Developer.Scopes())},
	}
	for _, role := range slices.Backward(account.Roles()) {
		list = append(list, Party{Name: string(role), Kind: User, Role: role, Scopes: texts(role.Scopes())})
	}
	for _, role := range slices.Backward(console.Roles()) {
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

// Verdict is what the door says to a party.
type Verdict int

const (
	// Unauthenticated means that this is no credential for the operation; 401.
	Unauthenticated Verdict = iota
	// Forbidden means that the credential is one, but lacks a scope; 403.
	Forbidden
	// Allowed means to come in; what follows is the operation's business.
	Allowed
)

// Judge tells what the document says to a party at an operation: one alternative
// of its security has to hold.
func Judge(security openapi3.SecurityRequirements, p Party) Verdict {
	if len(security) == 0 {
		return Allowed
	}
	best := Unauthenticated
	for _, alternative := range security {
		for scheme, scopes := range alternative {
			best = max(best, judge(scheme, scopes, p))
		}
	}
	return best
}

func judge(scheme string, scopes []string, p Party) Verdict {
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

// takes lists what is a credential for a scheme; nothing of ours for those of
// media servers, workers and the payment processor.
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
