package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/dbtest"
)

// asNode gives a server a URL for the other nodes.
func asNode(_ testing.TB, s *server) { s.settings["NODE_URL"] = s.url }

// TestAStreamOnAnotherServer has three servers on one database. A stream that is
// published at one is watched at another, with viewers and health there. A takeover at
// the third one disconnects the old encoder, and index.m3u8 follows it. While that server
// is down after a kill, the stream is a 503, until the encoder publishes at another one.
func TestAStreamOnAnotherServer(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	var nodes [3]*server
	for i := range nodes {
		nodes[i] = serve(t, asNode, set("DATABASE_URL", pool.Config().ConnString()), set("RATE_LIMIT_CALLER", "off"),
			set("MASTER_KEY", "c2hvd2Zsb29yLXNob3dmbG9vci1zaG93Zmxvb3ItMTI="))
	}
	a := signUp(t, nodes[0])
	stream := a.newStream(api.StreamModeLOWLATENCY, 60)
	first := encode(t, ingest(t, nodes[1], stream))
	a.await(stream.ID, api.StreamStatusLIVE)

	playback := a.playback(stream.ID).URL
	require.True(t, strings.HasPrefix(playback, nodes[0].url))
	list := follow(t, playback)
	require.Contains(t, list.load(), "#EXT-X-PART:")
	probe(t, playback)
	until(t, "a viewer and health at another server", func() bool {
		list.load()
		s := a.stream(stream.ID)
		return s.ViewerCount == 1 && s.Health.State == api.StreamHealthStateGOOD && s.Health.VideoKbps > 0
	})

	old := list.url.String()
	second := encode(t, ingest(t, nodes[2], stream))
	first.wait(t)
	until(t, "the playlist leads to the new server's", func() bool {
		status, index := get(t.Context(), t, playback+"?"+list.url.RawQuery)
		return status == http.StatusOK && !strings.Contains(old, lastLine(index))
	})
	probe(t, playback)

	nodes[2].kill()
	second.kill()
	until(t, "the server is known to be gone", func() bool {
		status, body := get(t.Context(), t, playback)
		return status == http.StatusServiceUnavailable && strings.Contains(body, "node_unreachable")
	})
	third := encode(t, ingest(t, nodes[0], stream))
	until(t, "the encoder is back elsewhere", func() bool {
		status, _ := get(t.Context(), t, strings.Replace(playback, nodes[0].url, nodes[1].url, 1))
		return status == http.StatusOK
	})
	third.kill()
}

// ingest returns the URL to which an encoder publishes at one server.
func ingest(t testing.TB, s *server, stream api.Stream) string {
	t.Helper()
	u, err := url.Parse(target(stream))
	require.NoError(t, err)
	u.Host = s.rtmp
	return u.String()
}
