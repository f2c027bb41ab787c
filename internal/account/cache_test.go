package account

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCallerCache(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	c := newCallerCache(func() time.Time { return now }, time.Second)
	hash := sha256.Sum256([]byte("token"))
	_, ok := c.get(hash)
	require.False(t, ok)
	c.put(hash, Caller{TenantID: "ten_1"}, c.generation())
	got, ok := c.get(hash)
	require.True(t, ok)
	require.Equal(t, "ten_1", got.TenantID)
	now = now.Add(time.Second)
	_, ok = c.get(hash)
	require.False(t, ok, "its life is over")
}

// TestRevocationBeatsALookUpThatIsUnderWay: a row that was read before a
// revocation isn't put into the cache after it.
func TestRevocationBeatsALookUpThatIsUnderWay(t *testing.T) {
	t.Parallel()
	c := newCallerCache(time.Now, time.Hour)
	hash := sha256.Sum256([]byte("token"))
	generation := c.generation()
	c.clear()
	c.put(hash, Caller{TenantID: "ten_1"}, generation)
	_, ok := c.get(hash)
	require.False(t, ok)
	c.put(hash, Caller{TenantID: "ten_1"}, c.generation())
	_, ok = c.get(hash)
	require.True(t, ok)
	c.clear()
	_, ok = c.get(hash)
	require.False(t, ok)
}

func TestCallerCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCallerCache(time.Now, time.Hour)
	for i := range cacheSize + 10 {
		c.put(sha256.Sum256(fmt.Append(nil, i)), Caller{}, c.generation())
		require.LessOrEqual(t, len(c.entries), cacheSize)
	}
}

func TestRolesAndScopes(t *testing.T) {
	t.Parallel()
	require.Nil(t, Role("KING").Scopes())
	require.True(t, Caller{Scopes: Viewer.Scopes()}.May(StreamsRead, KeysRead))
	require.False(t, Caller{Scopes: Viewer.Scopes()}.May(StreamsRead, KeysWrite))
	require.True(t, Caller{}.May())
	require.Equal(t, []Scope{StreamsRead}, narrowed(Developer, []string{"streams:read", "admin:all"}), "a key can't widen its role")
	require.Empty(t, narrowed(Developer, nil))
	require.Equal(t, "api_key", Caller{APIKeyID: "key_1"}.Actor().Type)
	require.Equal(t, "user", Caller{UserID: "user_1"}.Actor().Type)
}
