// Package tester keeps what is sent to addresses that tenants make for looking
// at it, and sends it on.
package tester

import (
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/batch"
	"showfloor/internal/fairshare"
)

const (
	// maxURLs is how many capture URLs a tenant may have.
	maxURLs = 20
	// ring is how many requests are kept of each URL, and keep for how long.
	ring = 200
	keep = 7 * 24 * time.Hour
	// pageBytes is where a page of captures ends, by the length of its bodies.
	pageBytes = 4 << 20
	// writeBatch is how many captures share a commit: with bodies of 1 MiB each,
	// still little memory.
	writeBatch = 20
	// DefaultTotalBytes is Config.TotalBytes by default.
	DefaultTotalBytes = 10 << 30
	// maxUnwritten bounds the requests that wait to be written, and with them the
	// memory of their bodies: 256 MiB while the database doesn't answer.
	maxUnwritten = 256
	// reserved are the last places. A tenant takes one of them only while it holds fewer
	// than fewPlaces.
	reserved, fewPlaces = 48, 16
)

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// TokenKeys check the check characters of tokens; the first makes those of new ones.
	TokenKeys [][]byte
	// Client makes the replays.
	Client *http.Client
	// TotalBytes is what the captures of all tenants may take up together,
	// DefaultTotalBytes by default: beyond it the oldest go.
	TotalBytes int64
	// Refuse says why nothing can be captured at the moment, such as a full disk;
	// nil, or a nil error, for no reason.
	Refuse func() error
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. What an exported method changes, it changes in
// one transaction.
type Service struct {
	config  Config
	client  *http.Client
	write   *batch.Batcher[Request, kept]
	total   total
	replays *counter
	// unwritten holds a place for each request that waits to be written.
	unwritten *fairshare.Places[string]
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if len(c.TokenKeys) == 0 {
		c.TokenKeys = [][]byte{nil}
	}
	if c.TotalBytes == 0 {
		c.TotalBytes = DefaultTotalBytes
	}
	if c.Refuse == nil {
		c.Refuse = func() error { return nil }
	}
	s := &Service{
		config: c, client: c.Client, replays: newCounter(maxReplays),
		unwritten: fairshare.New[string](maxUnwritten, reserved, fewPlaces),
	}
	// Together, so that one busy URL costs a connection and not all of them.
	s.write = batch.New(writeBatch, s.createCaptures)
	return s
}
