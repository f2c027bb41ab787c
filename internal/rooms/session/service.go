// Package session holds rooms and their participants: conferences, webinars,
// livestreams and calls, and participant tokens for a session's or a stream's
// room.
package session

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/batch"
	"showfloor/internal/base/queue"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/signing"
	"showfloor/internal/tenancy/usage"
)

// Streams knows which streams a tenant has.
type Streams interface {
	// CheckStreamTx returns the problem not_found unless the tenant has the stream. tx
	// may also be the pool.
	CheckStreamTx(ctx context.Context, tx db.DBTX, tenantID, streamID string) error
	// CheckFreeTx returns the problem not_found unless the tenant has the stream, and a conflict if it is being published or may not be
	// published.
	CheckFreeTx(ctx context.Context, tx db.DBTX, tenantID, streamID string) error
	// IsBroadcastTx reports whether the stream's publisher is the broadcast of a session.
	IsBroadcastTx(ctx context.Context, tx db.DBTX, tenantID, streamID string) (bool, error)
}

// Replays knows which recordings are public: they can be watched without a token.
type Replays interface {
	// CheckPublicReplay returns the problem not_found unless the tenant's recording is public, and tenant_suspended for a suspended
	// tenant.
	CheckPublicReplay(ctx context.Context, tenantID, recordingID string) error
}

// Recordings keeps the recordings of sessions.
type Recordings interface {
	// CreateOfSessionTx begins a recording of a locked session.
	CreateOfSessionTx(ctx context.Context, tx pgx.Tx, p db.CreateSessionRecordingParams) (db.Recording, error)
	// LockOfSessionTx locks a recording of a locked session; the problem not_found if the session has no such recording.
	LockOfSessionTx(ctx context.Context, tx pgx.Tx, tenantID, sessionID, recordingID string) (db.Recording, error)
	// EndOfSessionTx ends a locked recording, if it is being made, and returns it.
	EndOfSessionTx(ctx context.Context, tx pgx.Tx, r db.Recording) (db.Recording, error)
}

// Calls take the ringing away.
type Calls interface {
	// RingingOverTx is called for a call that was cancelled while it rang; reason is Declined, TakenBack or Missed.
	RingingOverTx(ctx context.Context, tx pgx.Tx, row db.Session, c db.Call, reason string) error
}

// Quotas has the limits of plans.
type Quotas interface {
	LimitTx(ctx context.Context, tx pgx.Tx, tenantID string, limit quota.Limit) (int64, error)
	CheckValueTx(ctx context.Context, tx pgx.Tx, tenantID string, limit quota.Limit, value int64) error
}

// Usage refuses new work whose included usage is used up: 403 plan_limit.
type Usage interface {
	CheckAllowance(ctx context.Context, tenantID string, meters ...usage.Meter) error
	CheckAllowanceTx(ctx context.Context, tx pgx.Tx, tenantID string, meters ...usage.Meter) error
}

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Quotas Quotas
	Usage  Usage
	Events *event.Log
	Jobs   queue.Inserter
	// Streams checks the streams whose rooms get participants.
	Streams Streams
	// Replays checks the recordings that guests' tokens are for. If it is nil, there are no such tokens.
	Replays Replays
	// Recordings keeps the recordings of sessions.
	Recordings Recordings
	// Calls takes the ringing of cancelled calls away; nil for none.
	Calls Calls
	// Broadcasts is how many broadcasts a node encodes at a time.
	Broadcasts int
	// Realtime publishes changes to the participants in a room.
	Realtime realtime.Publisher
	// Keys signs and verifies participant tokens.
	Keys *signing.Keys
	// Node names this process. SFUURL is the WebSocket address of its SFU, without a
	// slash at the end; empty for a process without an SFU.
	Node, SFUURL string
	// Steady reports whether every live node has had time to write a heartbeat. If it
	// is nil, the answer is always yes.
	Steady func(now time.Time) bool
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct {
	config Config
	// rooms lets one change of a room at a time commit and be published, so that
	// participants connected to this process receive changes in the order of the
	// commits. A parent's turn is taken before those of its breakout rooms, which
	// follow by ascending id.
	rooms   batch.Turns[string]
	entries *batch.Keyed[sessionKey, *entryRequest, entryResult]
	// retired: this node takes no more rooms. beating holds a token while a heartbeat
	// is being written, so that no later heartbeat overtakes it.
	retired atomic.Bool
	beating chan struct{}
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Steady == nil {
		c.Steady = func(time.Time) bool { return true }
	}
	s := &Service{config: c, beating: make(chan struct{}, 1)}
	s.entries = batch.NewKeyed(maxEntryRequests, s.decideEntries)
	return s
}
