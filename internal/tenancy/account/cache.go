package account

import (
	"crypto/sha256"
	"sync"
	"time"

	"showfloor/internal/tenancy"
)

// cacheSize bounds the memory that callers can fill with new tokens. When it is
// reached, the cache is cleared.
const cacheSize = 10_000

// callerCache remembers the caller of a token for a short time. Otherwise each
// request of a busy client would cost a signature check and a query.
type callerCache struct {
	now  func() time.Time
	life time.Duration

	mu      sync.RWMutex
	entries map[[sha256.Size]byte]cachedCaller
	gen     uint64
}

type cachedCaller struct {
	caller  tenancy.Caller
	expires time.Time
}

func newCallerCache(now func() time.Time, life time.Duration) *callerCache {
	return &callerCache{now: now, life: life, entries: map[[sha256.Size]byte]cachedCaller{}}
}

func (c *callerCache) get(hash [sha256.Size]byte) (tenancy.Caller, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[hash]
	if !ok || !e.expires.After(c.now()) {
		return tenancy.Caller{}, false
	}
	return e.caller, true
}

// generation changes with every clear.
func (c *callerCache) generation() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.gen
}

// put stores the caller, unless the cache was cleared since generation was read.
func (c *callerCache) put(hash [sha256.Size]byte, caller tenancy.Caller, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gen != generation {
		return
	}
	if len(c.entries) >= cacheSize {
		clear(c.entries)
	}
	c.entries[hash] = cachedCaller{caller, c.now().Add(c.life)}
}

// ForgetCallers makes this process authenticate all tokens and keys again, after
// another area has changed a user's permissions.
func (s *Service) ForgetCallers() { s.cache.clear() }

// clear removes all callers, after a change that may reduce permissions.
func (c *callerCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gen++
	clear(c.entries)
}
