// Package subscription holds the platform's own money: tenants' subscriptions to plans, their invoices, and the revenue.
//
// The payment processor decides about subscriptions and invoices. SyncTenant copies its present state: after each report, each
// hour, after each change, and when a person comes back from a hosted page. So reports may be lost, repeated or reordered. The
// consequences of a change (the tenant's plan and status, events, mails, audit and ledger) commit together with the copy.
package subscription

import (
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/order"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/usage"
)

// DefaultGrace is how long an UNPAID subscription keeps the limits of its plan.
const DefaultGrace = 7 * 24 * time.Hour

// Config of a Service.
type Config struct {
	Pool      *pgxpool.Pool
	Events    *event.Log
	Jobs      queue.Inserter
	Processor *processor.Client
	// Accounts mails the tenants' owners.
	Accounts *account.Service
	// Orders knows the platform's fees.
	Orders *order.Service
	// Quotas limits how often a tenant's requests call the processor.
	Quotas *quota.Service
	// Usage has the plans' allowances.
	Usage *usage.Service
	// SignupPlan is the plan whose trial a new tenant begins with; empty or FREE for no trial.
	SignupPlan string
	// Grace is how long an UNPAID subscription keeps the limits of its plan.
	Grace time.Duration
	// AutomaticTax lets the processor compute taxes.
	AutomaticTax bool
	Log          *slog.Logger
	// Now is the clock, time.Now by default. With the sandbox it is the sandbox's clock, which people can move forward.
	Now func() time.Time
}

// Service holds the use cases.
type Service struct {
	config Config
	// customers and reads deduplicate concurrent calls to the processor for the same purpose.
	customers, reads singleflight.Group
}

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}
