package handlers_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/media/hub"
	"showfloor/internal/testkit/apitest"
)

// TestADemotedHostsActIsRefused: the role is taken away while the act runs, after its first check. The act waits for that change, and
// does nothing.
func TestADemotedHostsActIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	st := publish(t, s, sh.owner)
	_, err := s.Hub.Publish(hub.Broadcast{StreamID: st.ID}, "encoder", func(error) {})
	require.NoError(t, err)
	host := sh.owner.Viewer(t, st.ID, "ada", map[string]any{"role": "host"})
	var auction api.Auction
	sale := map[string]any{"productId": sh.mug.ID, "startingBidCents": 100, "bidIncrementCents": 100, "durationSec": 600}
	host.Call(t, "POST", "/v1/me/shows/"+st.ID+"/auctions", sale).Into(t, 201, &auction)
	for _, act := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPut, "/pin", map[string]any{"productId": sh.mug.ID}},
		{http.MethodPost, "/drops", map[string]any{"code": "FLASH20", "percentOff": 20, "durationSec": 60}},
		{http.MethodPost, "/auctions", sale},
		{http.MethodPost, "/auctions/" + auction.ID + "/cancel", nil},
		{http.MethodPost, "/stream-key", nil},
		{http.MethodPost, "/end", nil},
	} {
		demotion, err := s.Pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = demotion.Rollback(t.Context()) }) // it has been committed
		var pid int
		require.NoError(t, demotion.QueryRow(t.Context(), `UPDATE participants SET role = 'viewer' WHERE room_id = $1 AND user_id = 'ada'
			RETURNING pg_backend_pid()`, st.ID).Scan(&pid))
		answers := make(chan apitest.Response, 1)
		go func() { answers <- host.Call(t, act.method, "/v1/me/shows/"+st.ID+act.path, act.body) }()
		require.Eventually(t, func() bool {
			var waits bool
			err := s.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))`, pid).Scan(&waits)
			return err == nil && waits
		}, 30*time.Second, 10*time.Millisecond, "%s waits for the demotion", act.path)
		require.NoError(t, demotion.Commit(t.Context()))
		answer := <-answers
		answer.Problem(t, 403, "forbidden")
		_, err = s.Pool.Exec(t.Context(), `UPDATE participants SET role = 'host' WHERE room_id = $1 AND user_id = 'ada'`, st.ID)
		require.NoError(t, err)
	}
	v := publicShow(t, s, st.ID)
	require.True(t, v.PinnedProductID.IsNull())
	require.Empty(t, v.Drops)
	require.Len(t, v.Auctions, 1)
	require.Equal(t, api.AuctionStatusLIVE, v.Auctions[0].Status)
	require.Equal(t, api.StreamStatusLIVE, v.Status)
	_, isOnAir := s.Hub.Stream(st.ID)
	require.True(t, isOnAir, "the refused end has not disconnected the encoder")
	require.Less(t, host.Call(t, "PUT", "/v1/me/shows/"+st.ID+"/pin", map[string]any{"productId": sh.mug.ID}).Status, 300, "as the host again")
}
