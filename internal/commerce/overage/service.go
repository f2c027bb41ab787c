// Package overage charges tenants for usage above what their plan includes, up to their spend cap.
//
// A period of a tenant's subscription is added up each hour, and after its end. The charge of each meter is stored first; a report of
// the difference then goes to a meter of the payment processor, which bills it with the customer's subscription for overage. One unit
// of that meter is one cent, so a change of prices or plans in the middle of a period needs no change at the processor. Reports are
// rows, so a killed process continues with the same one; see settleReport for how a lost answer is resolved.
package overage

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/usage"
)

// Usage knows what tenants have used, and what their plans include.
type Usage interface {
	SumAllTx(ctx context.Context, tx pgx.Tx, tenantID string, from, to time.Time) (usage.Amounts, error)
	Allowances(ctx context.Context) (map[string][]db.PlanAllowance, error)
	AllowancesTx(ctx context.Context, tx pgx.Tx) (map[string][]db.PlanAllowance, error)
	ListUsing(ctx context.Context, since time.Time, after string, limit int) ([]string, error)
	ForgetBlocksOf(tenantID string)
}

// Subscriptions knows who pays for which period.
type Subscriptions interface {
	GetPayerTx(ctx context.Context, through db.DBTX, tenantID string) (subscription.Payer, error)
	KeepProcessorObject(ctx context.Context, name string, create func() (string, error)) (string, error)
	ForgetProcessorObject(ctx context.Context, name string) error
	SyncTenant(ctx context.Context, tenantID string) error
}

// Accounts mails a tenant's owners and administrators.
type Accounts interface {
	MailAdministratorsTx(ctx context.Context, tx pgx.Tx, tenantID string, letter func(to db.User, tenant db.Tenant) mail.Letter) error
}

// Config of a Service.
type Config struct {
	Pool          *pgxpool.Pool
	Events        *event.Log
	Jobs          queue.Inserter
	Processor     *processor.Client
	Usage         Usage
	Subscriptions Subscriptions
	Accounts      Accounts
	// AutomaticTax lets the processor compute taxes.
	AutomaticTax bool
	Log          *slog.Logger
	// Now is the clock of subscriptions, and UsageNow that of usage; time.Now by default.
	Now, UsageNow func() time.Time
}

// Service holds the use cases.
type Service struct{ config Config }

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.UsageNow == nil {
		c.UsageNow = time.Now
	}
	return &Service{config: c}
}
