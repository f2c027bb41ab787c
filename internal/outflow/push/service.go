// Package push sends notifications to the devices of tenants' users, through Apple's and Google's services. Other areas add Args jobs in
// the transaction of the change that they report; tenants notify many users at once.
package push

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/fairshare"
	"showfloor/internal/base/queue"
	"showfloor/internal/base/secret"
	"showfloor/internal/outflow/push/apns"
	"showfloor/internal/outflow/push/fcm"
	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/usage"
)

// Quotas enforces the limits of plans.
type Quotas interface {
	CheckTx(ctx context.Context, tx pgx.Tx, tenantID string, limit quota.Limit, wanted int64,
		count func(ctx context.Context) (int64, error)) error
}

// Usage stores the number of delivered pushes.
type Usage interface {
	RecordTx(ctx context.Context, tx pgx.Tx, list []usage.Interval) error
	// CheckAllowance refuses new work whose included usage is used up: 403 plan_limit.
	CheckAllowance(ctx context.Context, tenantID string, meters ...usage.Meter) error
}

// Calls are the calls whose ringing is pushed.
type Calls interface {
	IsRinging(ctx context.Context, tenantID, sessionID string) (bool, error)
}

// Config of a Service.
type Config struct {
	Pool      *pgxpool.Pool
	Box       *secret.Box
	Jobs      queue.Inserter
	Quotas    Quotas
	Usage     Usage
	Calls     Calls
	Addresses provider.Addresses
	// Observe is called for each answer of a provider.
	Observe func(name provider.Name, outcome provider.Outcome)
	Log     *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases.
type Service struct {
	config Config
	apns   *clients[*apns.Client]
	fcm    *clients[*fcm.Client]
	// places are the running batches by tenant; freed receives a value when one ends.
	places *fairshare.Places[string]
	freed  chan struct{}
	// progress wakes the requests that wait for their notification.
	progress *progress
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Observe == nil {
		c.Observe = func(provider.Name, provider.Outcome) {}
	}
	return &Service{
		config: c, apns: newClients[*apns.Client](c.Now), fcm: newClients[*fcm.Client](c.Now),
		places: fairshare.New[string](notifyWorkers, reservedWorkers, 1), freed: make(chan struct{}, 1), progress: newProgress(),
	}
}
