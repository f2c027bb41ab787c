package account

import (
	"crypto/sha256"
	"sync"
	"time"
)

// cacheSize bounds the memory that callers can fill with fresh tokens.
const cacheSize = 10_000

// callerCache remembers who a token stands for, for a moment: a busy client
// would otherwise cost a signature check and a query on each request.
type callerCache struct {
	now  func() time.Time
	life time.Duration

	mu      sync.RWMutex
	entries map[[sha256.Size]byte]cachedCaller
	gen     uint64
}

type cachedCaller struct {
	caller  Caller
	expires time.Time
}

func newCallerCache(now func() time.Time, life time.Duration) *callerCache {
	return &callerCache{now: now, life: life, entries: map[[sha256.Size]byte]cachedCaller{}}
}

func (c *callerCache) get(hash [sha256.Size]byte) (Caller, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[hash]
	if !ok || !e.expires.After(c.now()) {
		return Caller{}, false
	}
	return e.caller, true
}

// generation changes with every clear.
func (c *callerCache) generation() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.gen
}

// put remembers the caller unless the cache was cleared since generation.
func (c *callerCache) put(hash [sha256.Size]byte, caller Caller, generation uint64) {
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

// ForgetCallers lets this process look anew who a token or key stands for, after
// another area has changed somebody's rights.
func (s *Service) ForgetCallers() { s.cache.clear() }

// clear forgets everybody, after a change that may end somebody's rights.
func (c *callerCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gen++
	clear(c.entries)
}
