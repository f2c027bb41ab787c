package mediagate_test

import (
	"log/slog"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// nodes are two servers on one database. Each receives the other's notifications.
type nodes struct {
	first, second *rig
}

func newNodes(t *testing.T) nodes {
	t.Helper()
	pool := dbtest.New(t)
	var list [2]*rig
	for i := range list {
		s := apitest.New(t, apitest.Options{Pool: pool, Listens: true})
		reports := mediagate.NewReports(t.Context(), slog.New(slog.DiscardHandler))
		reports.Connect(s.Streams, s.Hub)
		t.Cleanup(reports.Close)
		list[i] = &rig{Server: s, reports: reports}
	}
	list[0].owner = list[0].Register(t)
	return nodes{list[0], list[1]}
}

// stream creates a stream of the first node's tenant.
func (n nodes) stream(t *testing.T, windowSec int) (streamID, key string) {
	t.Helper()
	st := n.first.owner.Stream(t, map[string]any{"reconnectWindowSec": windowSec})
	return st.ID, st.StreamKey
}

// connect admits an encoder and attaches it to the node's hub.
func (r *rig) connect(t *testing.T, key string) (conn string, e encoder) {
	t.Helper()
	conn = id.New(id.Publisher)
	b, err := r.reports.Publish(t.Context(), rtmp.Attempt{ConnID: conn, Key: key, RemoteIP: netip.MustParseAddr("192.0.2.1")})
	require.NoError(t, err)
	return conn, r.attach(t, b, conn)
}

// heard returns when the first node has handled all notifications so far: it stops a
// stream of its own and waits for that notification, which is the last one.
func (n nodes) heard(t *testing.T) {
	t.Helper()
	streamID, key := n.stream(t, 0)
	_, last := n.first.connect(t, key)
	require.NoError(t, n.second.Streams.ForceStopStream(t.Context(), audit.Actor{Type: "admin", ID: "adm_1"}, streamID, "the last one"))
	require.ErrorIs(t, <-last.kicked, hub.ErrStopped)
}

// TestATakeoverOnAnotherNode checks that the old encoder is disconnected as soon as the
// other node's transaction commits, and not at a later heartbeat.
func TestATakeoverOnAnotherNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	streamID, key := n.stream(t, 0)
	_, old := n.first.connect(t, key)
	_, successor := n.second.connect(t, key)
	n.heard(t)
	select {
	case reason := <-old.kicked:
		require.ErrorIs(t, reason, hub.ErrReplaced)
	default:
		t.Fatal("the old encoder is still on air")
	}
	_, there := n.first.Hub.Stream(streamID)
	require.False(t, there)
	require.Empty(t, successor.kicked)

	// A takeover in the other direction: the second node's encoder is disconnected, and
	// the first one's stays.
	_, again := n.first.connect(t, key)
	require.ErrorIs(t, <-successor.kicked, hub.ErrReplaced)
	n.heard(t)
	require.Empty(t, again.kicked)
}

// TestAReturnOnAnotherNode checks that the old node ends the stream that it keeps for
// the reconnect window.
func TestAReturnOnAnotherNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	streamID, key := n.stream(t, 60)
	conn, old := n.first.connect(t, key)
	_, err := n.first.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	old.publisher.Close()
	n.first.reports.Unpublish(t.Context(), conn)
	_, waits := n.first.Hub.Stream(streamID)
	require.True(t, waits)
	n.second.connect(t, key)
	n.heard(t)
	_, waits = n.first.Hub.Stream(streamID)
	require.False(t, waits)
}

// TestATakeoverByAMediaServer checks that the broadcast's playlists end here, because
// its viewers play from the media server.
func TestATakeoverByAMediaServer(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	streamID, key := n.stream(t, 0)
	_, old := n.first.connect(t, key)
	_, err := n.second.Streams.Publish(t.Context(), stream.Attempt{
		PublisherID: id.New(id.Publisher), Source: stream.SourceSRS, Key: key, RemoteIP: "192.0.2.1",
	})
	require.NoError(t, err)
	require.ErrorIs(t, <-old.kicked, hub.ErrReplaced)
	n.heard(t)
	_, there := n.first.Hub.Stream(streamID)
	require.False(t, there)
}
