package signing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/apitest"
)

// TestCodeKeysGoWithTheirSigningKeys checks that they are replaced, retired and revoked
// together, in every process.
func TestCodeKeysGoWithTheirSigningKeys(t *testing.T) {
	t.Parallel()
	pool, clock, first, second := two(t)
	old := first.NewestCodeKey()
	require.Len(t, old.Secret, 32)
	require.Equal(t, old, second.NewestCodeKey())

	_, err := first.Rotate(t.Context(), audit.System("test"))
	require.NoError(t, err)
	fresh := first.NewestCodeKey()
	require.NotEqual(t, old.ID, fresh.ID)
	require.NotEqual(t, old.Secret, fresh.Secret)
	for _, want := range []uint32{old.ID, fresh.ID} { // second hasn't read the new one yet
		got, ok := second.FindCodeKey(t.Context(), want)
		require.True(t, ok)
		require.Equal(t, want, got.ID)
	}
	_, ok := second.FindCodeKey(t.Context(), 12345)
	require.False(t, ok)

	rows, err := first.List(t.Context())
	require.NoError(t, err)
	_, err = first.Revoke(t.Context(), audit.System("test"), rows[0].ID, "test")
	require.NoError(t, err)
	clock.Advance(time.Minute)
	_, ok = second.FindCodeKey(t.Context(), fresh.ID)
	require.False(t, ok, "revoked, and not cached: the last query was over a minute ago")

	third, err := open(t, pool, apitest.MasterKey, clock)
	require.NoError(t, err)
	require.Equal(t, first.NewestCodeKey(), third.NewestCodeKey(), "a restart keeps them")
}

// TestCodeKeysOutliveTheDatabase checks that playback continues while it is away.
func TestCodeKeysOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	pool, clock, keys, _ := two(t)
	key := keys.NewestCodeKey()
	pool.Close()
	for range 3 {
		clock.Advance(time.Hour)
		require.Equal(t, key, keys.NewestCodeKey())
		got, ok := keys.FindCodeKey(t.Context(), key.ID)
		require.True(t, ok)
		require.Equal(t, key, got)
	}
}
