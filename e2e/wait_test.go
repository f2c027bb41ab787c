package e2e

import (
	"testing"
	"time"
)

const (
	// patience is how long a condition may take; it is far more than any does,
	// and only a test that fails waits for so long.
	patience  = 45 * time.Second
	pollEvery = 25 * time.Millisecond
)

// until polls the condition and fails the test when it doesn't come true.
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

// pause lets some time pass in which the world goes on.
func pause(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal("the test is over")
	}
}
