// Package stream holds live streams: their keys, their publishers, their
// broadcasts and their playback URLs.
package stream

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/queue"
	"showfloor/internal/outflow/event"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/usage"
)

// Engine is the media plane's interface for this area.
type Engine interface {
	// Media describes a stream's incoming media; false if the stream is not on air on
	// this node.
	Media(streamID string) (Media, bool)
	// Inspect measures a stream; false if it is not on air on this node.
	Inspect(streamID string) (Inspection, bool)
	// Viewers is the number of viewers of the tenant's streams on this node.
	Viewers(tenantID string) int
	// Seal closes the stream's playlists and disconnects its publisher. It returns
	// when the last part is written, after some milliseconds, and may be called at any
	// time.
	Seal(streamID string)
	// Withdraw is Seal; in addition, the media can no longer be watched.
	Withdraw(streamID string)
}

// Recordings makes the recordings of broadcasts. row is the locked stream.
type Recordings interface {
	// BroadcastLiveTx begins or continues the recording of a stream that is LIVE; isNew reports a new broadcast.
	BroadcastLiveTx(ctx context.Context, tx pgx.Tx, row db.Stream, isNew bool) error
	// BroadcastEndedTx ends the recording of a stream that is ENDED.
	BroadcastEndedTx(ctx context.Context, tx pgx.Tx, row db.Stream) error
	// IsRecordedTx reports whether a new publisher's media is to be recorded.
	IsRecordedTx(ctx context.Context, tx pgx.Tx, row db.Stream) (bool, error)
	// FileWrittenTx makes a recording of a file that an SRS server has written.
	FileWrittenTx(ctx context.Context, tx pgx.Tx, tenantID, streamID string, f DVRFile) error
	// DVRURL signs a URL to watch the current recording from its start; nil if there is none.
	DVRURL(ctx context.Context, tenantID, streamID string, expires time.Time) (*string, error)
}

// Restreams are the routes on which broadcasts are forwarded. row is the locked stream.
type Restreams interface {
	// BroadcastLiveTx starts or continues the open routes of a stream that is LIVE.
	BroadcastLiveTx(ctx context.Context, tx pgx.Tx, row db.Stream) error
	// BroadcastEndedTx ends the open routes of a stream that is ENDED.
	BroadcastEndedTx(ctx context.Context, tx pgx.Tx, row db.Stream) error
}

// Quotas enforces the limits of plans.
type Quotas interface {
	CheckTx(ctx context.Context, tx pgx.Tx, tenantID string, limit quota.Limit, wanted int64,
		count func(ctx context.Context) (int64, error)) error
	// Limit returns a limit of up to 10 seconds ago, and the refusal of one more.
	Limit(ctx context.Context, tenantID string, limit quota.Limit) (value int64, refusal *problem.Error, err error)
}

// Usage refuses new work whose included usage is used up.
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
	Engine Engine
	// Node is this process's name in the rows of its connections.
	Node string
	// NodeURL is this node's address for other nodes; "" if it runs alone.
	NodeURL string
	// Version is the program's version, and StartedAt when this process started, for operators.
	Version    string
	StartedAt  time.Time
	Recordings Recordings
	Restreams  Restreams
	// MediaServers disconnects publishers on SRS servers; nil if these have no API.
	MediaServers MediaServers
	// Products checks the products of shows.
	Products Products
	// Playback signs playback URLs.
	Playback *playtoken.Tokens
	// PublicURL and IngestURL are this server's addresses for viewers and encoders,
	// without a slash at the end.
	PublicURL, IngestURL string
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct {
	config Config
	beats  beats
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}

// ExpireReconnectArgs is the job that ends a broadcast whose encoder didn't
// reconnect within the reconnect window.
type ExpireReconnectArgs struct {
	StreamID string `json:"streamId"`
}

// Kind is the job's name.
func (ExpireReconnectArgs) Kind() string { return "stream_expire_reconnect" }

var _ river.JobArgs = ExpireReconnectArgs{}
