// Package tester captures requests to URLs that tenants create for inspection, and
// replays them.
package tester

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/batch"
	"showfloor/internal/base/fairshare"
	"showfloor/internal/outflow/outbound"
)

const (
	// maxURLs is the maximum number of a tenant's capture URLs.
	maxURLs = 20
	// ring is how many requests per URL are kept, and keep for how long.
	ring = 200
	keep = 7 * 24 * time.Hour
	// pageBytes is the maximum total size of the bodies in a page of captures.
	pageBytes = 4 << 20
	// writeBatch is the maximum number of captures per commit. With bodies of 1 MiB
	// they take little memory.
	writeBatch = 20
	// DefaultTotalBytes is the default of Config.TotalBytes.
	DefaultTotalBytes = 10 << 30
	// maxUnwritten is the maximum number of requests that wait to be written. It
	// bounds the memory of their bodies: 256 MiB while the database doesn't answer.
	maxUnwritten = 256
	// reserved is the number of last places. A tenant may take one of them only while
	// it holds fewer than fewPlaces.
	reserved, fewPlaces = 48, 16
)

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// TokenKeys verify the check characters of tokens; the first one makes those of
	// new tokens.
	TokenKeys [][]byte
	// Client sends the replays.
	Client *outbound.Client
	// TotalBytes is the maximum size of all tenants' captures together,
	// DefaultTotalBytes by default. Above it the oldest captures are deleted.
	TotalBytes int64
	// Refuse returns why no request can be captured now, such as a full disk. It may
	// be nil, or return nil.
	Refuse func() error
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction.
type Service struct {
	config  Config
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
		config: c, replays: newCounter(maxReplays),
		unwritten: fairshare.New[string](maxUnwritten, reserved, fewPlaces),
	}
	// Batched, so that one busy URL uses one connection and not all of them.
	s.write = batch.New(writeBatch, s.createCaptures)
	return s
}
