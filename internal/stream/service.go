// Package stream holds live streams: their keys, who may publish, what is on
// air and where it can be watched.
package stream

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/internal/event"
	"showfloor/internal/playtoken"
)

// Engine is the media plane as this area sees it.
type Engine interface {
	// Media tells what arrives on a stream; false when nothing is on air here.
	Media(streamID string) (Media, bool)
	// Seal closes the stream's playlists and sends its publisher away. It
	// returns when the last part is written, a matter of milliseconds, and may
	// be called at any time.
	Seal(streamID string)
	// Withdraw is Seal, and then nobody can watch what was on air any more.
	Withdraw(streamID string)
}

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Events *event.Log
	Jobs   event.Inserter
	Engine Engine
	// Node names this process in the rows of the connections that it holds.
	Node string
	// NodeURL is where other nodes reach this one; "" when it is alone.
	NodeURL string
	// Playback signs playback URLs.
	Playback *playtoken.Tokens
	// PublicURL and IngestURL are this server as viewers and encoders see it,
	// without a slash at the end.
	PublicURL, IngestURL string
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. What an exported method changes, it changes in
// one transaction, unless its comment says otherwise.
type Service struct {
	config Config
	beats  beats
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}

// ExpireReconnectArgs is the job that ends a broadcast whose encoder didn't come
// back within the reconnect window.
type ExpireReconnectArgs struct {
	StreamID string `json:"streamId"`
}

// Kind names the job.
func (ExpireReconnectArgs) Kind() string { return "stream_expire_reconnect" }

var _ river.JobArgs = ExpireReconnectArgs{}
