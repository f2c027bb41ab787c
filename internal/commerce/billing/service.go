// Package billing receives the payment processor's reports, stores each once, and
// passes it to the area that it concerns.
package billing

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/processor"
)

// Orders stores the results of payments. Each method may run twice, and in any order.
type Orders interface {
	// ApplyPaymentPage updates an order by the state of its payment page. accountID is the
	// account that the report came from.
	ApplyPaymentPage(ctx context.Context, accountID string, p processor.PaymentPage) error
	// ApplyRefunds updates an order by the refunds of its payment. A payment without an
	// order is a problem with the code not_found.
	ApplyRefunds(ctx context.Context, accountID, paymentIntentID string) error
	// ApplyDisputes does the same with the disputes of the payment.
	ApplyDisputes(ctx context.Context, accountID, paymentIntentID string) error
}

// Sellers knows the sellers' accounts at the processor.
type Sellers interface {
	// IsSeller reports whether an account is a tenant's. The processor also reports on
	// our own account and on those of other platforms.
	IsSeller(ctx context.Context, accountID string) (bool, error)
	// ApplyAccount stores the current state of the account. It may run twice, and ignores
	// accounts that belong to no tenant.
	ApplyAccount(ctx context.Context, accountID string) error
}

// Subscriptions knows the tenants as the platform's own customers.
type Subscriptions interface {
	// SyncCustomer copies the present state of a customer's subscriptions and invoices. It may run twice, and ignores customers
	// that are no tenant.
	SyncCustomer(ctx context.Context, customerID string) error
}

// Config of a Service.
type Config struct {
	Pool      *pgxpool.Pool
	Jobs      queue.Inserter
	Processor *processor.Client
	Orders    Orders
	Sellers   Sellers
	// Subscriptions gets the reports about the platform's own account.
	Subscriptions Subscriptions
	Log           *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}
