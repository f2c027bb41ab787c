// Package auction sells single units to the highest bidder. Bids are accepted one
// after the other, and each auction ends exactly once. All times are the
// database's, read after the auction's row is locked.
package auction

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/batch"
	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/order"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
)

// Streams knows which streams a tenant has.
type Streams interface {
	// CheckStreamTx returns the problem not_found unless the tenant has the stream. tx
	// may also be the pool.
	CheckStreamTx(ctx context.Context, tx db.DBTX, tenantID, streamID string) error
}

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Events *event.Log
	Jobs   queue.Inserter
	// Streams checks the streams that auctions are for.
	Streams Streams
	// Orders creates the winners' orders.
	Orders *order.Service
	// Realtime publishes bids and free units to viewers.
	Realtime realtime.Publisher
	// Now dates the audit log, time.Now by default. It never decides about an auction.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct {
	config Config
	bids   *batch.Keyed[auctionKey, *bidRequest, bidResult]
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{config: c}
	s.bids = batch.NewKeyed(maxBids, s.decideBids)
	return s
}

// SettleArgs is the job that ends an auction when its time is over.
type SettleArgs struct {
	TenantID  string `json:"tenantId"`
	AuctionID string `json:"auctionId"`
}

// Kind is the job's name.
func (SettleArgs) Kind() string { return "auction_settle" }

var _ river.JobArgs = SettleArgs{}
