// Package webhook delivers events to tenants' endpoints: signed, in order, and
// retried until they arrive or the schedule is exhausted.
//
// It owns the tables webhook_endpoints and webhook_deliveries. After the commit of
// an event, FanOut writes one delivery for each endpoint that package event has
// stored with it, and marks the event (event.TakeTx) in the same transaction. So a
// kill at any instant loses no delivery and writes none twice. Deliver makes the
// attempts, in jobs.
package webhook

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/batch"
	"showfloor/internal/base/queue"
	"showfloor/internal/base/secret"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/outbound"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/quota"
)

// Owners mails a tenant's owners.
type Owners interface {
	MailOwnersTx(ctx context.Context, tx pgx.Tx, tenantID string, letter func(owner db.User) mail.Letter) error
}

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Box    *secret.Box
	Events *event.Log
	Jobs   queue.Inserter
	// Quotas enforces the limits of tenants' plans.
	Quotas *quota.Service
	// Schedule is the pause before each attempt after the first, so that there
	// are len(Schedule)+1 attempts.
	Schedule []time.Duration
	// Owners informs owners about disabled endpoints.
	Owners Owners
	// Client makes the deliveries.
	Client *outbound.Client
	// Observe is called after each attempt, for metrics; it may be nil.
	Observe func(outcome string, took time.Duration)
	Log     *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct {
	config       Config
	limit        *limiter
	load         *batch.Batcher[string, *db.ListDeliveriesForAttemptRow]
	recordLone   *batch.Batcher[db.RecordAttemptParams, recorded]
	postpone     *batch.Batcher[postponed, struct{}]
	batchSlots   chan struct{} // one value for each delivery of DeliverBatch in progress
	fanOutPauses *fanOutPauses
	attempts     *attemptCounts
	lineTime     time.Duration // the constant, except in tests
}

// maxBatch is how many deliveries are loaded or recorded with one query.
const maxBatch = 200

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Observe == nil {
		c.Observe = func(string, time.Duration) {}
	}
	s := &Service{
		config: c, limit: newLimiter(), batchSlots: make(chan struct{}, Workers), fanOutPauses: newFanOutPauses(), lineTime: lineTime,
		attempts: newAttemptCounts(),
	}
	s.load, s.recordLone = batch.New(maxBatch, s.loadDeliveries), batch.New(maxBatch, s.recordLoneAttempts)
	s.postpone = batch.New(maxBatch, s.putOffMany)
	return s
}

// DefaultSchedule is the pause before the second and each further attempt.
func DefaultSchedule() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
	}
}
