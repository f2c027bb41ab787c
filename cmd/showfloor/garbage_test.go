package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 100, 10 << 20: 100, 48 << 20: 100, 96 << 20: 50, 480 << 20: 10, 4 << 30: 10} {
		require.Equal(t, want, gcPercent(live), "%d MiB", live>>20)
	}
}
