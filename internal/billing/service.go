// Package billing takes in what the payment processor reports, once each, and
// hands it to the areas that it concerns.
package billing

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/event"
	"showfloor/internal/processor"
)

// Orders stores what became of payments. Each method may run twice, and in any order.
type Orders interface {
	// ApplySession does to an order what a payment page says. accountID is whose
	// account the report came from.
	ApplySession(ctx context.Context, accountID string, p processor.Session) error
	// ApplyRefunds brings an order in line with the refunds of its payment. A
	// payment that is no order's is a problem with the code not_found.
	ApplyRefunds(ctx context.Context, accountID, paymentIntentID string) error
	// ApplyDisputes does the same with the disputes of the payment.
	ApplyDisputes(ctx context.Context, accountID, paymentIntentID string) error
}

// Sellers are told that something about an account has changed.
type Sellers interface {
	// ApplyAccount stores what the account is like now. It may run twice, and
	// ignores accounts that are no tenant's.
	ApplyAccount(ctx context.Context, accountID string) error
}

// Config of a Service.
type Config struct {
	Pool      *pgxpool.Pool
	Jobs      event.Inserter
	Processor *processor.Client
	Orders    Orders
	Sellers   Sellers
	Log       *slog.Logger
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
