// Package auction sells single units to the highest bidder. Bids are accepted one
// after the other, and each auction ends exactly once. All times are the
// database's, read after the auction's row is locked.
package auction

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/internal/batch"
	"showfloor/internal/event"
	"showfloor/internal/order"
	"showfloor/internal/realtime"
)

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Events *event.Log
	Jobs   event.Inserter
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
	lanes  *batch.Lanes[lane, *offer, verdict]
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{config: c}
	s.lanes = batch.NewLanes(mostBids, s.decide)
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
