package mediagate_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/streams/stream"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestHealthOnAnotherNode checks that another node shows the health that the
// stream's own node stored last.
func TestHealthOnAnotherNode(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	here := apitest.New(t, apitest.Options{Pool: pool, NodeURL: "http://10.0.0.1:8080"})
	there := apitest.New(t, apitest.Options{Pool: pool, NodeURL: "http://10.0.0.2:8080"})
	owner := here.Register(t)
	st := owner.Stream(t, map[string]any{"renditions": []map[string]any{{"height": 240}}})
	reports := mediagate.NewReports(t.Context(), slog.New(slog.DiscardHandler))
	reports.Connect(here.Streams, here.Hub)
	t.Cleanup(reports.Close)
	r := &rig{Server: here, reports: reports}
	conn, e := r.connect(t, st.StreamKey)
	_, err := here.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	e.publisher.Stream().AddViewers(3)
	require.Equal(t, []hub.Rendition{{Name: "240p", Lines: 240, VideoKbps: 250}}, e.publisher.Stream().Renditions)
	e.publisher.Stream().SetLadder(hub.LadderNoRoom)
	track := &hub.Track{Codec: hub.H264, SPS: []byte{0x67, 1}, PPS: []byte{0x68, 1}, Width: 640, Height: 360}
	for i, shown := range []int{0, 3, 1, 2, 4} { // decoding order differs from display order; 4 s without a key frame
		require.NoError(t, e.publisher.Write(&hub.Unit{
			Track: track, Key: i == 0, Data: []byte{0, 0, 0, 2, 0x65, 1}, DTS: time.Duration(i) * time.Second, PTS: time.Duration(shown) * time.Second,
		}))
	}
	_, err = here.Streams.Heartbeat(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, here.Streams.ShareMedia(t.Context(), []string{st.ID}))

	get := func(s *apitest.Server) (got api.Stream) {
		s.With(t, owner.Token).Call(t, "GET", "/v1/me/streams/"+st.ID, nil).Into(t, 200, &got)
		return got
	}
	require.Equal(t, get(here), get(there))
	require.Equal(t, 3, get(there).ViewerCount)
	ladder := get(there).Health.Ladder.MustGet()
	require.Equal(t, api.StreamLadderStateNOROOM, ladder.State)
	require.Contains(t, ladder.Reason.MustGet(), "other streams")
	codes := []string{}
	for _, n := range get(there).Health.Notices {
		codes = append(codes, string(n.Code))
	}
	require.Equal(t, []string{stream.NoticeBFrames, stream.NoticeKeyInterval}, codes)
	place, err := there.Streams.Locate(t.Context(), st.ID)
	require.NoError(t, err)
	require.Equal(t, stream.Place{Node: here.Node, URL: "http://10.0.0.1:8080", Held: true}, place)

	// A shared health is valid for 10 seconds, and the node's address for 30.
	here.Clock.Advance(stream.HeartbeatEvery * 4)
	there.Clock.Advance(stream.HeartbeatEvery * 4)
	require.Zero(t, get(there).ViewerCount)
	place, err = there.Streams.Locate(t.Context(), st.ID)
	require.NoError(t, err)
	require.Equal(t, stream.Place{Node: here.Node, Held: true}, place)
}
