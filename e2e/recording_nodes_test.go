package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/s3test"
)

// TestARecordingOfTwoServers has two servers on one database and one bucket. A running recording can be played at the server that
// doesn't record it. When the recording server is killed, the recording continues at the other one in the reconnect window. The
// finished recording can be played at both, and has what the killed server had on its disk.
func TestARecordingOfTwoServers(t *testing.T) {
	t.Parallel()
	pool, bucket := dbtest.New(t), s3test.New(t).URL(t, "media")
	var nodes [2]*server
	for i := range nodes {
		nodes[i] = serve(t, asNode, withKeys(s3test.Secret), set("STORAGE_URL", bucket), set("DATABASE_URL", pool.Config().ConnString()),
			set("RATE_LIMIT_CALLER", "off"), set("MASTER_KEY", "c2hvd2Zsb29yLXNob3dmbG9vci1zaG93Zmxvb3ItMTI="))
	}
	a := signUp(t, nodes[1])
	hooks := newSink(t, a, nil, api.EventNameRecordingReady, api.EventNameRecordingAssetsReady)
	stream := a.recordedStream(600)
	encoder := encode(t, ingest(t, nodes[0], stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	dvr, err := a.playback(stream.ID).DvrURL.Get()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(dvr, nodes[1].url))
	segments := func(take string) int {
		if status, _ := get(t.Context(), t, dvr); status != http.StatusOK {
			return 0
		}
		return strings.Count(follow(t, dvr).load(), "\n"+take+"-")
	}
	until(t, "the other server has two segments", func() bool { return segments("1") >= 2 })
	pause(t, 2*time.Second)
	nodes[0].kill()
	encoder.wait(t)

	before := segments("1")
	encoder = encode(t, ingest(t, nodes[1], stream))
	until(t, "the recording continues at the other server", func() bool { return segments("2") > 0 })
	require.Equal(t, before, segments("1"))
	require.Len(t, a.recordings(stream.ID), 1)
	require.Equal(t, api.RecordingStatusRECORDING, a.recordings(stream.ID)[0].Status)
	nodes[0].start(t)
	until(t, "the killed server stores what it had", func() bool { return segments("1") > before })
	answer, err := a.StopRecordingWithResponse(t.Context(), stream.ID, a.recordings(stream.ID)[0].ID)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, answer.StatusCode(), "%s", answer.Body)
	r := a.ready(stream.ID)
	encoder.terminate(t)
	playWhole(t, r)
	address, err := r.URL.Get()
	require.NoError(t, err)
	other := r
	other.URL.Set(strings.Replace(address, nodes[1].url, nodes[0].url, 1))
	playWhole(t, other)
	require.Equal(t, []api.EventName{api.EventNameRecordingReady, api.EventNameRecordingAssetsReady}, hooks.await(stream.ID, 2))
	require.Len(t, hooks.settled(a), 2)
	for _, node := range nodes {
		requireEmptySpool(t.Context(), t, node)
	}
}
