package account

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/tenancy"
)

func TestCallerCache(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	c := newCallerCache(func() time.Time { return now }, time.Second)
	hash := sha256.Sum256([]byte("token"))
	_, ok := c.get(hash)
	require.False(t, ok)
	c.put(hash, tenancy.Caller{TenantID: "ten_1"}, c.generation())
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
	c.put(hash, tenancy.Caller{TenantID: "ten_1"}, generation)
	_, ok := c.get(hash)
	require.False(t, ok)
	c.put(hash, tenancy.Caller{TenantID: "ten_1"}, c.generation())
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
		c.put(sha256.Sum256(fmt.Append(nil, i)), tenancy.Caller{}, c.generation())
		require.LessOrEqual(t, len(c.entries), cacheSize)
	}
}

func TestRolesAndScopes(t *testing.T) {
	t.Parallel()
	require.Nil(t, tenancy.Role("KING").Scopes())
	require.True(t, tenancy.Caller{Scopes: tenancy.Viewer.Scopes()}.May(tenancy.StreamsRead, tenancy.KeysRead))
	require.False(t, tenancy.Caller{Scopes: tenancy.Viewer.Scopes()}.May(tenancy.StreamsRead, tenancy.KeysWrite))
	require.True(t, tenancy.Caller{}.May())
	require.Equal(t, []tenancy.Scope{tenancy.StreamsRead}, narrowed(tenancy.Developer, []string{"streams:read", "admin:all"}), "a key can't widen its role")
	require.Empty(t, narrowed(tenancy.Developer, nil))
	require.Equal(t, "api_key", tenancy.Caller{APIKeyID: "key_1"}.Actor().Type)
	require.Equal(t, "user", tenancy.Caller{UserID: "user_1"}.Actor().Type)
}
