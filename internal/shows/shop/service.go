// Package shop sells in shows: carts, checkouts, orders, auctions and bids of participants, and the figures of what became of a
// stream's viewers.
package shop

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/batch"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/commerce/order"
	"showfloor/internal/shows/show"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/account"
)

// Config of a Service.
type Config struct {
	Pool      *pgxpool.Pool
	Accounts  *account.Service
	Streams   *stream.Service
	Shows     *show.Service
	Catalog   *catalog.Service
	Discounts *discount.Service
	Orders    *order.Service
	Auctions  *auction.Service
	// PublicURL is this server's address for buyers, without a slash at the end.
	PublicURL string
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct {
	config Config
	clicks *batch.Keyed[clickKey, string, bool]
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{config: c}
	s.clicks = batch.NewKeyed(maxClicks, s.addClicks)
	return s
}
