package e2e

import (
	"testing"
	"time"
)

const (
	// patience is the time limit of a condition. It is far more than any
	// condition needs, so only a failing test waits that long.
	patience  = 45 * time.Second
	pollEvery = 25 * time.Millisecond
)

// until polls the condition and fails the test if it isn't met in time.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("waited %s for: %s", patience, what)
		}
	}
}

// pause waits while the server and its clients continue.
func pause(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal("the test is over")
	}
}
