package apitest

import (
	"sync"
	"testing"
	"time"
)

// Clock stands still until it is moved.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock makes a clock that shows the present, in the milliseconds that the
// API and the database both keep.
func NewClock() *Clock { return &Clock{at: time.Now().UTC().Truncate(time.Millisecond)} }

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// patience is how long a test waits for what must come: long enough for a busy
// machine, and never waited when all is well.
const patience = 30 * time.Second

// Until waits for a condition, which it asks again and again.
func Until(t testing.TB, what string, met func() bool) {
	t.Helper()
	deadline := time.After(patience)
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !met() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
