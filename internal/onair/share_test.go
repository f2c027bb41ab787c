package onair_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/apitest"
	"showfloor/internal/dbtest"
	"showfloor/internal/onair"
	"showfloor/internal/stream"
)

// TestHealthOnAnotherNode is what the stream's own node told last.
func TestHealthOnAnotherNode(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	here := apitest.New(t, apitest.Options{Pool: pool, NodeURL: "http://10.0.0.1:8080"})
	there := apitest.New(t, apitest.Options{Pool: pool, NodeURL: "http://10.0.0.2:8080"})
	owner := here.Register(t)
	st := owner.Stream(t, nil)
	reports := onair.NewReports(t.Context(), slog.New(slog.DiscardHandler))
	reports.Connect(here.Streams, here.Hub)
	t.Cleanup(reports.Close)
	r := &rig{Server: here, reports: reports}
	conn, e := r.connect(t, st.StreamKey)
	_, err := here.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	e.publisher.Stream().AddViewers(3)
	_, err = here.Streams.Heartbeat(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, here.Streams.ShareMedia(t.Context(), []string{st.ID}))

	get := func(s *apitest.Server) (got api.Stream) {
		s.With(t, owner.Token).Call(t, "GET", "/v1/me/streams/"+st.ID, nil).Into(t, 200, &got)
		return got
	}
	require.Equal(t, get(here), get(there))
	require.Equal(t, 3, get(there).ViewerCount)
	place, err := there.Streams.Locate(t.Context(), st.ID)
	require.NoError(t, err)
	require.Equal(t, stream.Place{Node: here.Node, URL: "http://10.0.0.1:8080", Held: true}, place)

	// What it told is believed for 10 seconds, and its address for 30.
	here.Clock.Advance(stream.HeartbeatEvery * 4)
	there.Clock.Advance(stream.HeartbeatEvery * 4)
	require.Zero(t, get(there).ViewerCount)
	place, err = there.Streams.Locate(t.Context(), st.ID)
	require.NoError(t, err)
	require.Equal(t, stream.Place{Node: here.Node, Held: true}, place)
}
