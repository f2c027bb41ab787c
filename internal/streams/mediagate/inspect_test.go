package mediagate_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/streams/stream"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// sps is the beginning of a parameter set of H.264: High profile, level 3.1, 640x360.
var sps = []byte{
	0x67, 0x64, 0x00, 0x1f, 0xac, 0xd9, 0x40, 0xa0, 0x2f, 0xf9, 0x70, 0x11, 0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x03, 0x00, 0x3c,
	0x0f, 0x18, 0x31, 0x96,
}

// TestAnInspectionOnAnotherNode: an admin at any node sees the measurements of the node that has the stream, and the points of
// its health, also after the broadcast.
func TestAnInspectionOnAnotherNode(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	here := apitest.New(t, apitest.Options{Pool: pool, NodeURL: "http://10.0.0.1:8080"})
	there := apitest.New(t, apitest.Options{Pool: pool, NodeURL: "http://10.0.0.2:8080"})
	owner := here.Register(t)
	st := owner.Stream(t, nil)
	reports := mediagate.NewReports(t.Context(), slog.New(slog.DiscardHandler))
	reports.Connect(here.Streams, here.Hub)
	t.Cleanup(reports.Close)
	r := &rig{Server: here, reports: reports}
	conn, e := r.connect(t, st.StreamKey)
	_, err := here.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	video := &hub.Track{Codec: hub.H264, SPS: sps, PPS: []byte{0x68, 1}, Width: 640, Height: 360}
	audio := &hub.Track{Codec: hub.AAC, AudioConfig: []byte{0x11, 0x90}, SampleRate: 48000, Channels: 2}
	for range 3 { // seconds
		for n := range 10 {
			at := time.Duration(n) * 100 * time.Millisecond
			require.NoError(t, e.publisher.Write(&hub.Unit{Track: video, Key: n == 0, Data: make([]byte, 1000), DTS: at, PTS: at}))
			require.NoError(t, e.publisher.Write(&hub.Unit{Track: audio, Key: true, Data: make([]byte, 100), DTS: at, PTS: at}))
		}
		here.Clock.Advance(time.Second)
		there.Clock.Advance(time.Second)
		e.publisher.Discontinuity()
	}
	require.NoError(t, here.Streams.ShareMedia(t.Context(), []string{st.ID}))
	require.NoError(t, here.Streams.RecordHealth(t.Context(), []string{st.ID}))
	require.NoError(t, here.Streams.RecordHealth(t.Context(), []string{st.ID})) // replaces the point

	path := "/v1/admin/stream-inspector/" + st.ID
	get := func(s *apitest.Server) (got api.StreamInspection) {
		s.Admin(t, platform.Support).Call(t, "GET", path, nil).Into(t, 200, &got)
		return got
	}
	want := get(here)
	require.Equal(t, want, get(there))
	require.Len(t, want.Tracks, 2)
	require.Equal(t, "avc1.64001f", want.Tracks[0].CodecString)
	require.Equal(t, 640, want.Tracks[0].Width.MustGet())
	require.EqualValues(t, 30, want.Tracks[0].Units)
	require.Equal(t, "mp4a.40.2", want.Tracks[1].CodecString)
	require.Positive(t, want.Tracks[0].BitrateKbps)
	require.Equal(t, 3, want.Timing.MustGet().Jumps)
	require.False(t, want.KeyFrames.IsNull())
	require.Equal(t, api.InspectedOutputKindLLHLS, want.Outputs[0].Kind)
	require.Len(t, want.HealthHistory, 1)
	require.Equal(t, api.StreamHealthStateGOOD, want.HealthHistory[0].State)
	var page api.StreamInspectionPage
	there.Admin(t, platform.Support).Call(t, "GET", "/v1/admin/stream-inspector", nil).Into(t, 200, &page)
	require.Equal(t, 1, page.Total)
	require.Equal(t, here.Node, page.Items[0].Node.MustGet())
	require.Equal(t, api.StreamPublisherSourceRTMP, page.Items[0].Source.MustGet())

	// An hour and ten seconds later, the first point is gone.
	for range 2 {
		here.Clock.Advance(time.Hour + 10*time.Second)
		require.NoError(t, here.Streams.RecordHealth(t.Context(), []string{st.ID, "str_unknown"}))
	}
	require.Len(t, get(here).HealthHistory, 1)
	require.Equal(t, api.StreamHealthStateSTALLED, get(here).HealthHistory[0].State)
	e.publisher.Close()
	reports.Unpublish(t.Context(), conn)
	here.Clock.Advance(23 * time.Hour)
	require.NoError(t, here.Streams.DeleteOld(t.Context()))
	over := get(here)
	require.Empty(t, over.Tracks)
	require.Empty(t, over.Outputs)
	require.True(t, over.Timing.IsNull())
	require.Len(t, over.HealthHistory, 1)
	here.Clock.Advance(2 * time.Hour)
	require.NoError(t, here.Streams.DeleteOld(t.Context()))
	require.Empty(t, get(here).HealthHistory)
	here.Admin(t, platform.Support).Call(t, "GET", "/v1/admin/stream-inspector/str_unknown", nil).Problem(t, 404, "not_found")
}

// TestARevocationOnAnotherNode: the encoder that uses the key is disconnected when the other node's transaction commits.
func TestARevocationOnAnotherNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	streamID, key := n.stream(t, 60)
	conn, e := n.first.connect(t, key)
	_, err := n.first.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	root := n.second.Admin(t, platform.SuperAdmin)
	keys, _, err := n.second.Streams.ListAdminStreamKeys(t.Context(), stream.KeyFilter{Q: &streamID}, 0, 1)
	require.NoError(t, err)
	root.Call(t, "POST", "/v1/admin/stream-keys/"+keys[0].ID+"/revoke", map[string]any{"reason": "Published"}).Is(t, 201)
	require.ErrorIs(t, <-e.kicked, hub.ErrStopped)
	_, there := n.first.Hub.Stream(streamID)
	require.False(t, there)
}
