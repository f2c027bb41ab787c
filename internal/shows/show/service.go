// Package show reads shows and replays for viewers' pages, and carries out the host's acts.
package show

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/rooms/session"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/account"
)

// Config of a Service.
type Config struct {
	Pool       *pgxpool.Pool
	Accounts   *account.Service
	Streams    *stream.Service
	Recordings *recording.Service
	Sessions   *session.Service
	Chat       *chat.Service
	Catalog    *catalog.Service
	Auctions   *auction.Service
	Discounts  *discount.Service
	// Tokens checks the playback URLs that the player page is asked to play.
	Tokens PlaybackTokens
	// Realtime publishes the states of shows.
	Realtime realtime.Publisher
	// PublicURL begins the playback URLs, without a slash at the end.
	PublicURL string
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct {
	config  Config
	shows   *kept[*Show]
	replays *kept[*Replay]
	// playback has the URLs at which participants play streams.
	playback *kept[stream.PlaybackURL]
	// tenants are the tenants of sessions, by the session's id.
	tenants *kept[db.Tenant]
	// heads has a token for each page head that is being read.
	heads chan struct{}
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{config: c, heads: make(chan struct{}, maxHeads)}
	s.shows, s.replays, s.playback = keep(c.Now, s.readShow), keep(c.Now, s.readReplay), keep(c.Now, s.readPlayback)
	s.tenants = keep(c.Now, s.readSessionTenant)
	return s
}

// Now is the service's clock.
func (s *Service) Now() time.Time { return s.config.Now() }
