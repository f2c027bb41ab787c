package sfu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPanicLosesOnlyItsOwnWork: queued work after a panic, a kick perhaps, is still done.
func TestAPanicLosesOnlyItsOwnWork(t *testing.T) {
	t.Parallel()
	m, done := newMailbox(), 0
	m.post(func() { done++ })
	m.post(func() { panic("a fault") })
	m.post(func() { done++ })
	<-m.wake
	require.Panics(t, m.run)
	require.Equal(t, 1, done)
	<-m.wake
	m.run()
	require.Equal(t, 2, done)
}
