package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 100, 10 << 20: 100, 48 << 20: 100, 96 << 20: 50, 192 << 20: 25, 240 << 20: 10, 480 << 20: 7, 4 << 30: 7} {
		require.Equal(t, want, gcPercent(live, 1<<30), "%d MiB, busy", live>>20)
	}
	for live, want := range map[uint64]int{0: 100, 4 << 20: 100, 16 << 20: 50, 32 << 20: 25, 480 << 20: 7} {
		require.Equal(t, want, gcPercent(live, 1<<20), "%d MiB, idle", live>>20)
	}
	require.Equal(t, 50, gcPercent(40<<20, 20<<20), "as much as in the last seconds")
}
