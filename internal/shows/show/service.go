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

// h264 is the video codec that all browsers decode by WebRTC, as stream.Media names it.
const h264 = "H264"

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
	// TenantWatchers is the maximum number of watchers of one tenant on each node's SFU; 0 offers no WebRTC.
	TenantWatchers int
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
	// changes are the catalog's changes that viewers don't have yet.
	changes changes
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

// OffersRealtime reports whether viewers' pages may play a show by WebRTC. It refuses what would fail for all of them: pictures that
// the room can't show, and a show with more viewers than one tenant may have watchers. The page that asks is one of the viewers.
func (s *Service) OffersRealtime(v *Show) bool {
	m := v.Health.Media
	return v.Status == stream.Live && m.VideoCodec == h264 && !m.BFrames && s.config.TenantWatchers > 0 && v.Viewers <= s.config.TenantWatchers
}

// Now is the service's clock.
func (s *Service) Now() time.Time { return s.config.Now() }
