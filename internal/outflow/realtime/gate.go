package realtime

import (
	"context"
	"time"
)

// Gate authenticates tokens and decides who may subscribe to what. A refusal is a
// problem.Error. Any other error means that it can't decide now; the client is
// asked to try again.
type Gate interface {
	// Authenticate returns the identity of a token; it checks the token at each call.
	// room is empty for the token's own room. For a participant it may be a breakout
	// room of that room to which the user is invited.
	Authenticate(ctx context.Context, token, room string) (Identity, error)
	// Admit reports whether a tenant's credential may subscribe to a room. For another
	// tenant's room the error is the same as for one that doesn't exist.
	Admit(ctx context.Context, who Identity, room string) error
	// Participants returns these users' states in a room. A user who is missing from
	// the answer is no participant of it.
	Participants(ctx context.Context, tenantID, room string, userIDs []string) (map[string]Participant, error)
	// Pin pins a product in the room of a participant, who must be its host. It
	// publishes the change itself.
	Pin(ctx context.Context, who Identity, productID string) error
}

// Identity is the participant or tenant credential that a token stands for.
type Identity struct {
	TenantID string
	// Room and UserID are a participant's; empty for a tenant's own credential.
	Room, UserID string
	// Holder names the tenant's user or API key; empty for a participant.
	Holder string
	// Rooms and Events report whether a tenant's credential may read the tenant's rooms, and all of its events.
	Rooms, Events bool
	// ReadOnly refuses all publications of the connection.
	ReadOnly bool
	// Impersonated reports whether an admin acts as the tenant's user. Admins connect from some networks only.
	Impersonated bool
	// ExpiresAt is when the token expires; zero if only Authenticate knows it.
	ExpiresAt time.Time
}

// participant reports whether the identity is a participant.
func (i Identity) participant() bool { return i.Room != "" }

// State says whether a participant may subscribe to the room.
type State int

// The states. The zero value means that the user is no participant.
const (
	Unknown State = iota
	Inside
	// Waiting: the participant waits for admission.
	Waiting
	// Ended: the room is over. Earlier publications may still be read.
	Ended
	Kicked
	Banned
	// Suspended: the tenant is suspended.
	Suspended
)

// Participant is a participant's current state, name and role in a room.
type Participant struct {
	State             State
	DisplayName, Role string
}

// Visitor is the HTTP side's view of an unauthenticated connection.
type Visitor interface {
	// Network is the client's network, by which connections are counted.
	Network() string
	// MayGuess refuses a token, before it is verified, if too many bad ones came from
	// the client's network. Its error is a problem.
	MayGuess(ctx context.Context, token string) error
	// Guessed counts a bad token.
	Guessed(ctx context.Context, token string)
	// PageToken is the token of a page of the console, whose scripts can't read it; empty for other clients. It is the
	// credential of a connect command without a token.
	PageToken() string
	// MayImpersonate refuses an admin's connection from an address that admins may not use. Its error is a problem.
	MayImpersonate(ctx context.Context) error
}
