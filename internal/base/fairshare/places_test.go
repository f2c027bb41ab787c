package fairshare_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/fairshare"
)

func take(p *fairshare.Places[string], holder string, n int) (got int) {
	for range n {
		if p.Take(holder) {
			got++
		}
	}
	return got
}

func TestOneHolderLeavesTheReservedPlaces(t *testing.T) {
	p := fairshare.New[string](32, 8, 2)
	require.Equal(t, 24, take(p, "first", 40))
	require.Equal(t, 2, take(p, "second", 40))
	require.Zero(t, take(p, "first", 1))
	p.Release("first")
	p.Release("first")
	p.Release("first")
	require.Equal(t, 1, take(p, "first", 40), "23 are taken, then the reserved ones begin")
	require.Equal(t, 2, take(p, "third", 40))
	for _, holder := range []string{"fourth", "fifth", "sixth"} {
		require.Equal(t, 2, take(p, holder, 40))
	}
	require.Equal(t, 32, p.Taken())
	require.Zero(t, take(p, "seventh", 1))
}

func TestAHolderOfFewGetsAllOfASmallBound(t *testing.T) {
	require.Equal(t, 2, take(fairshare.New[string](2, 0, 64), "one", 3))
	require.Equal(t, 4, take(fairshare.New[string](4, 1, 64), "one", 9))
}
