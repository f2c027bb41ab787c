package apitest

import (
	"sync"
	"testing"
	"time"
)

// Clock is a clock that only tests move.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a clock that shows the present, in milliseconds, the
// resolution of the API.
func NewClock() *Clock { return &Clock{at: time.Now().UTC().Truncate(time.Millisecond)} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// patience is how long a test waits for a condition. It is long enough for a
// busy machine; only failing tests wait that long.
const patience = 30 * time.Second

// Until polls a condition until it is met.
func Until(t testing.TB, what string, met func() bool) {
	t.Helper()
	deadline := time.After(patience)
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !met() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}
