// Package order sells products. Carts become PENDING orders with a hosted payment
// page, and orders follow the processor's reports about their pages. An order
// holds its units and its use of a code until the processor's final answer.
package order

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy/setting"
)

// Auctions changes the auctions whose winners' orders are paid.
type Auctions interface {
	// LockTx locks an auction. It is called before the order is locked.
	LockTx(ctx context.Context, tx pgx.Tx, tenantID, auctionID string) error
	// SettleTx makes a locked auction SETTLED, because its order was paid.
	SettleTx(ctx context.Context, tx pgx.Tx, tenantID, auctionID string, now time.Time) error
}

// Config of a Service.
type Config struct {
	Pool      *pgxpool.Pool
	Events    *event.Log
	Jobs      queue.Inserter
	Processor *processor.Client
	Catalog   *catalog.Service
	Discounts *discount.Service
	Auctions  Auctions
	// Settings holds the platform's fee.
	Settings *setting.Service
	// Realtime publishes the numbers of free units to viewers.
	Realtime realtime.Publisher
	// PublicURL is this server's address for buyers, without a slash at the end.
	PublicURL string
	// Observe is called with each new status of an order, and with "UNMATCHED" for a
	// payment that belongs to no order, for metrics. It may be nil.
	Observe func(status string)
	Log     *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct{ config Config }

// observe reports an order's new status.
func (s *Service) observe(status string) {
	if s.config.Observe != nil {
		s.config.Observe(status)
	}
}

// observeCommitted reports an order's new status once tx is committed.
func (s *Service) observeCommitted(tx pgx.Tx, status string) {
	postgres.AfterCommit(tx, func() { s.observe(status) })
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}
