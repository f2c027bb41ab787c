package e2e

import (
	"strings"
	"sync"
	"testing"
)

// machine is a lock that tests share to start servers. A test with browsers that play in
// real time locks it exclusively: otherwise its players get too little CPU time, which
// looks like a fault of the server.
var machine struct {
	sync.RWMutex

	holders sync.Map // *holder by the test's name
}

// holder is a test that holds the machine.
type holder struct {
	mu sync.Mutex
	// n is the number of holds by the test and its subtests that have not been released.
	n int
}

// alone waits until no other test has a server, and prevents others from starting one
// until the test ends. Call it before the test's first server.
func alone(t testing.TB) {
	t.Helper()
	hold(t, machine.Lock, machine.Unlock)
}

// shared waits until no other test has the machine alone.
func shared(t testing.TB) {
	t.Helper()
	hold(t, machine.RLock, machine.RUnlock)
}

// hold locks on behalf of the top-level test of t, unless that test holds the lock already.
// The lock is released when the last of its subtests that called hold has ended.
func hold(t testing.TB, lock, unlock func()) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	entry, _ := machine.holders.LoadOrStore(test, &holder{})
	h := entry.(*holder) // the map holds only these
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n == 0 {
		lock()
	}
	h.n++
	t.Cleanup(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.n--; h.n == 0 {
			unlock()
		}
	})
}
