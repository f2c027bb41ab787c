package cache_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/cache"
)

func TestMap(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	m := cache.NewMap[string, int](10*time.Second, 2)
	_, ok := m.Get("a", now)
	require.False(t, ok)
	m.Put("a", 1, now)
	m.Put("b", 2, now)
	got, ok := m.Get("a", now.Add(10*time.Second-1))
	require.True(t, ok)
	require.Equal(t, 1, got)
	for _, at := range []time.Time{now.Add(10 * time.Second), now.Add(-10 * time.Second)} { // also after the clock was set back
		got, ok = m.Get("a", at)
		require.False(t, ok)
		require.Zero(t, got)
	}
	m.Put("a", 3, now)
	got, ok = m.Get("b", now)
	require.True(t, ok, "a known key needs no room")
	require.Equal(t, 2, got)
	m.Put("c", 4, now)
	_, ok = m.Get("a", now)
	require.False(t, ok, "a new key beyond the bound empties the map")
	_, ok = m.Get("c", now)
	require.True(t, ok)
	m.Clear()
	_, ok = m.Get("c", now)
	require.False(t, ok)
}
