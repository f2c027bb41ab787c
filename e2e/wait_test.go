package e2e

import (
	"testing"
	"time"

	"showfloor/internal/testkit/flowtest"
)

const (
	// patience is the time limit of a condition. It is far more than any
	// condition needs, so only a failing test waits that long.
	patience  = 2 * time.Minute
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

// actor is a client that fails the test t. In a step it fails the step.
type actor interface {
	// in makes the actor fail t, and returns what it failed before.
	in(t testing.TB) (before testing.TB)
}

func (a *tenant) in(t testing.TB) (before testing.TB) {
	t.Helper()
	before, a.t = a.t, t
	return before
}

func (p *person) in(t testing.TB) (before testing.TB) {
	t.Helper()
	before, p.t = p.t, t
	return before
}

// step is flowtest.Step with actors, which fail the step.
func step(t *testing.T, name string, do func(t *testing.T), actors ...actor) {
	t.Helper()
	flowtest.Step(t, name, func(t *testing.T) {
		for _, a := range actors {
			before := a.in(t)
			defer a.in(before)
		}
		do(t)
	})
}
