package e2e

import (
	"strings"
	"sync"
	"testing"
)

// machine is shared by the tests that run at the same time. One with browsers that play
// in real time has it alone: beside others its players starve, which looks like a fault
// of the server.
var machine struct {
	sync.RWMutex

	holders sync.Map // *holder by the name of a test
}

// holder is a test that holds the machine.
type holder struct {
	mu sync.Mutex
	// n counts the calls of the test and its subtests whose test hasn't ended.
	n int
}

// alone waits until no other test has a server, and keeps others from starting one until
// the test ends. It comes before the test's first server.
func alone(t testing.TB) {
	t.Helper()
	hold(t, machine.Lock, machine.Unlock)
}

// shared waits until no other test has the machine alone.
func shared(t testing.TB) {
	t.Helper()
	hold(t, machine.RLock, machine.RUnlock)
}

// hold locks for the test that t is or belongs to, unless that test holds the machine
// already, until the last of its subtests that held it has ended.
func hold(t testing.TB, lock, unlock func()) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	entry, _ := machine.holders.LoadOrStore(test, &holder{})
	h := entry.(*holder) // nothing else is stored
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
