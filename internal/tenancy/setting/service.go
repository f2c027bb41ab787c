// Package setting holds the settings that admins can change while the platform runs. Each
// setting is an entry in definitions. Its default may come from the environment and
// applies until an admin sets another value.
package setting

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
)

// cacheLife is the maximum time for which other servers use a changed value; the API
// promises 5 seconds. The server that made the change uses the new value at once.
const cacheLife = 2 * time.Second

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// PlatformFee is the default of PlatformFeePct.
	PlatformFee Rate
	// KeepAudit and KeepMessages are the defaults of the retention; 0 is forever.
	KeepAudit, KeepMessages time.Duration
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction.
type Service struct {
	config   Config
	pool     *pgxpool.Pool
	now      func() time.Time
	settings []definition

	mu sync.Mutex
	// cached are the values of all settings, good until an instant.
	cached map[string]json.RawMessage
	until  time.Time
	// networks are those of AdminNetworks, parsed from the cached values.
	networks parsedNetworks
	// changes counts the changes by this server, so that values that were read before a
	// change aren't cached.
	changes int
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c, pool: c.Pool, now: c.Now, settings: definitions(c)}
}

// values returns all settings, a few seconds old at most. Don't change the map.
func (s *Service) values(ctx context.Context) (map[string]json.RawMessage, error) {
	now := s.now()
	s.mu.Lock()
	cached, changes := s.cached, s.changes
	if !now.Before(s.until) {
		cached = nil
	}
	s.mu.Unlock()
	if cached != nil {
		return cached, nil
	}
	rows, err := db.New(s.pool).ListSettings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list settings: %w", err)
	}
	read := map[string]json.RawMessage{}
	for _, d := range s.settings {
		read[d.key] = d.fallback
	}
	for _, r := range rows {
		read[r.Key] = r.Value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes == changes {
		s.cached, s.until = read, now.Add(cacheLife)
	}
	return read, nil
}

// forget makes this server read the settings again.
func (s *Service) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	s.cached = nil
}
