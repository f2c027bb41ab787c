package realtime

import (
	"context"
	"time"
)

// Gate knows whom tokens speak for and who may hear what. What it refuses is a
// problem.Error; any other error means that it can't tell now, and the client is
// asked to try again.
type Gate interface {
	// Authenticate finds out whom a token speaks for, each time anew. A participant's
	// may be meant for another room than its own, which room names: a breakout room of
	// it to which the user is invited. Else it is empty.
	Authenticate(ctx context.Context, token, room string) (Identity, error)
	// Admit tells whether a tenant's credential may hear a room. Another tenant's
	// room is refused as one that isn't there.
	Admit(ctx context.Context, who Identity, room string) error
	// Standings tells how these users stand in a room; who isn't in the answer is no
	// participant of it.
	Standings(ctx context.Context, tenantID, room string, userIDs []string) (map[string]Standing, error)
	// Pin shows a product in the room of a participant, who must be its host. What it
	// changes, it publishes by itself.
	Pin(ctx context.Context, who Identity, productID string) error
}

// Identity is whom a token speaks for.
type Identity struct {
	TenantID string
	// Room and UserID are a participant's; empty for a tenant's own credential.
	Room, UserID string
	// Holder names the tenant's user or API key; empty for a participant.
	Holder string
	// ExpiresAt is when the token ends; zero when Authenticate alone can tell.
	ExpiresAt time.Time
}

// participant tells whether it is one.
func (i Identity) participant() bool { return i.Room != "" }

// State says whether a participant may hear the room.
type State int

// The states. The zero one is that of somebody who is no participant.
const (
	Unknown State = iota
	Inside
	// Waiting is to be admitted.
	Waiting
	// Ended: the room is over. What was said until then may be heard.
	Ended
	Kicked
	Banned
	// Suspended: the tenant is.
	Suspended
)

// Standing is how a participant stands in a room now.
type Standing struct {
	State             State
	DisplayName, Role string
}

// Visitor is what the HTTP side knows of a connection that isn't anybody's yet.
type Visitor interface {
	// Network is where it comes from, as connections are counted.
	Network() string
	// MayGuess refuses a token before it costs anything, when too many bad ones came
	// from there. Its error is a problem.
	MayGuess(ctx context.Context, token string) error
	// Guessed counts a bad token.
	Guessed(ctx context.Context, token string)
}
