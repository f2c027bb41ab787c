package e2e

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/dbtest"
)

// TestAnEncoderOverThePlansLimitIsRefused publishes three streams of a tenant whose plan allows two. The encoder of the third one
// prints why, the stream's health says it, and it goes on air when another one has ended.
func TestAnEncoderOverThePlansLimitIsRefused(t *testing.T) {
	t.Parallel()
	a := signUp(t, serve(t, onTestDatabase))
	var streams [3]api.Stream
	for i := range streams {
		streams[i] = a.newStream(api.StreamModeLOWLATENCY, 0)
	}
	first := encode(t, target(streams[0]))
	encode(t, target(streams[1]))
	a.await(streams[0].ID, api.StreamStatusLIVE)
	a.await(streams[1].ID, api.StreamStatusLIVE)
	third := encode(t, target(streams[2]))
	require.NotZero(t, third.wait(t))
	const text = "the plan FREE allows 2 streams on air at one time; STARTER allows 5"
	require.Contains(t, third.err.String(), text)
	health := a.stream(streams[2].ID).Health
	require.Equal(t, []any{api.StreamHealthStateREJECTED, text}, []any{health.State, health.Reason.MustGet()})
	require.Equal(t, api.StreamStatusLIVE, a.stream(streams[0].ID).Status)
	first.kill()
	a.await(streams[0].ID, api.StreamStatusENDED)
	encode(t, target(streams[2]))
	a.await(streams[2].ID, api.StreamStatusLIVE)
}

// TestViewersOverThePlansLimitAreRefused has two servers on one database, and a plan that allows three viewers. Of 20 players that
// begin at once, exactly three are served. They go on when the limit is lowered. A player at the other server is refused, too.
func TestViewersOverThePlansLimitAreRefused(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	var nodes [2]*server
	for i := range nodes {
		nodes[i] = serve(t, asNode, set("DATABASE_URL", pool.Config().ConnString()), set("RATE_LIMIT_CALLER", "off"),
			set("MASTER_KEY", "c2hvd2Zsb29yLXNob3dmbG9vci1zaG93Zmxvb3ItMTI="))
	}
	_, err := pool.Exec(t.Context(), "UPDATE plans SET max_viewers = 3 WHERE tier = 'FREE'")
	require.NoError(t, err)
	a := signUp(t, nodes[0])
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encode(t, ingest(t, nodes[0], stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	playback := a.playback(stream.ID).URL
	var mu sync.Mutex
	var media []string
	var refused atomic.Int64
	var players sync.WaitGroup
	for range 20 {
		players.Go(func() {
			status, index := get(t.Context(), t, playback)
			if status != http.StatusOK {
				if status != http.StatusForbidden || !strings.Contains(index, `"code":"plan_limit"`) ||
					!strings.Contains(index, "the plan FREE allows 3 viewers at one time; STARTER allows 1000") {
					t.Errorf("%d %s", status, index)
				}
				refused.Add(1)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			media = append(media, strings.TrimSuffix(playback, "index.m3u8")+lastLine(index))
		})
	}
	players.Wait()
	require.Len(t, media, 3)
	require.EqualValues(t, 17, refused.Load())
	load := func() {
		t.Helper()
		for _, m := range media {
			status, text := get(t.Context(), t, m)
			require.Equal(t, http.StatusOK, status, text)
		}
	}
	load()
	_, err = pool.Exec(t.Context(), "UPDATE plans SET max_viewers = 1 WHERE tier = 'FREE'")
	require.NoError(t, err)
	until(t, "the other server refuses a viewer", func() bool {
		load()
		status, text := get(t.Context(), t, strings.Replace(playback, nodes[0].url, nodes[1].url, 1))
		return status == http.StatusForbidden && strings.Contains(text, "plan_limit")
	})
	require.Equal(t, 3, a.stream(stream.ID).ViewerCount)
}
