package sandbox_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/sandbox"
)

// TestTheClockCanBeFollowed: another process reads how far the clock is ahead, with the API's key.
func TestTheClockCanBeFollowed(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	ahead := func(key string) (time.Duration, error) {
		return sandbox.Ahead(t.Context(), r.server.Client(), sandbox.APIURL(r.url), key)
	}
	for n := range 3 {
		got, err := ahead(key)
		require.NoError(t, err)
		require.Equal(t, time.Duration(n)*36*time.Hour, got)
		require.NoError(t, r.Advance(36*time.Hour))
	}
	_, err := ahead("sk_test_wrong")
	require.ErrorContains(t, err, "status 401")
	r.Fail(1, "/clock", http.StatusInternalServerError)
	_, err = ahead(key)
	require.ErrorContains(t, err, "status 500")
	r.Fail(1, "/clock", http.StatusInternalServerError)
	r.ClearFaults()
	_, err = ahead(key)
	require.NoError(t, err)
}
