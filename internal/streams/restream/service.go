// Package restream holds restream targets, which are the addresses of other platforms, and routes: the forwarding of a broadcast to a
// target. The engine (internal/media/restream) forwards; restreamgate connects it with this area.
package restream

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/secret"
	"showfloor/internal/media/rtmpurl"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/quota"
)

// Channel is the PostgreSQL channel on which all nodes receive, at the commit, the id of a stream whose routes have changed, or that has
// routes and is on air on another connection.
const Channel = "showfloor_restreams"

// Statuses of a route.
const (
	Pending = "pending"
	Live    = "live"
	Ended   = "ended"
	Failed  = "failed"
)

// maxRoutes is the maximum number of a stream's pending and live routes.
const maxRoutes = 8

// maxOpenRoutes bounds the pending and live routes of a target, over all streams.
const maxOpenRoutes = 100

// keptRoutes is how many routes of a stream are kept. Attaching and detaching in a loop would make rows without end.
const keptRoutes = 1000

// Quotas enforces the limits of plans.
type Quotas interface {
	CheckTx(ctx context.Context, tx pgx.Tx, tenantID string, limit quota.Limit, wanted int64,
		count func(ctx context.Context) (int64, error)) error
	CheckDayTx(ctx context.Context, tx pgx.Tx, tenantID string, limit quota.Limit,
		creation func(ctx context.Context, since time.Time, skipped int32) (time.Time, error)) error
}

// Prober publishes to a target without any media.
type Prober interface {
	// Probe takes at most 11 s: 10 s up to its result, and 1 s for the end of the connection.
	Probe(ctx context.Context, a rtmpurl.Address) Probed
}

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Box    *secret.Box
	Events *event.Log
	Quotas Quotas
	// Prober tests targets; nil if this process can't.
	Prober Prober
	// Public reports whether an address may be a target; nil allows all. Names are checked when they are dialled.
	Public func(netip.Addr) bool
	// Node is this process's name in the rows of its streams.
	Node string
	Log  *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one transaction. Locks are taken in the order target, stream,
// route.
type Service struct {
	config Config
	tests  places
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c, tests: places{each: map[string]int{}}}
}

// Names of targets and streams in the audit log.
const (
	targetEntity = "restream_target"
	streamEntity = "stream"
)
