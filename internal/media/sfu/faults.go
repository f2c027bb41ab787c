package sfu

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// maxOrigins is how many origins of panics are remembered as logged. Panics of further origins are
// logged each time.
const maxOrigins = 100

// origin is the call stack of a panic: program counters, the innermost first.
type origin [32]uintptr

// faults counts the panics that the server recovered from. The stack of each origin is
// logged once: a fault that a client can repeat must not fill the log.
type faults struct {
	log   *slog.Logger
	count atomic.Uint64

	mu     sync.Mutex
	logged map[origin]bool
}

func newFaults(log *slog.Logger) *faults { return &faults{log: log, logged: map[origin]bool{}} }

// note counts a panic. The deferred function that recovered the panic must call it, while the
// panic's stack is still there.
func (f *faults) note(what string, value any) {
	f.count.Add(1)
	var from origin
	runtime.Callers(0, from[:])
	if f.isNew(from) {
		f.log.Error("sfu: "+what+" panicked", "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
	}
}

// isNew reports whether nothing was logged of an origin yet, and marks it as logged.
func (f *faults) isNew(from origin) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.logged[from] {
		return false
	}
	if len(f.logged) < maxOrigins {
		f.logged[from] = true
	}
	return true
}
