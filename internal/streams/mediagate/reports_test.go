package mediagate_test

import (
	"log/slog"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) {
	dbtest.Main(m, func() error { return goleak.Find() })
}

// encoder is an admitted connection.
type encoder struct {
	publisher *hub.Publisher
	kicked    chan error
}

type rig struct {
	*apitest.Server

	reports *mediagate.Reports
	owner   *apitest.Caller
	id, key string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := apitest.New(t, apitest.Options{})
	reports := mediagate.NewReports(t.Context(), slog.New(slog.DiscardHandler))
	reports.Connect(s.Streams, s.Hub)
	t.Cleanup(reports.Close)
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	return &rig{s, reports, owner, st.ID, st.StreamKey}
}

func (r *rig) admit(t *testing.T, conn string) hub.Broadcast {
	t.Helper()
	b, err := r.reports.Publish(t.Context(), rtmp.Attempt{ConnID: conn, Key: r.key, RemoteIP: netip.MustParseAddr("192.0.2.1")})
	require.NoError(t, err)
	return b
}

func (r *rig) attach(t *testing.T, b hub.Broadcast, conn string) encoder {
	t.Helper()
	e := encoder{kicked: make(chan error, 1)}
	var err error
	e.publisher, err = r.Hub.Publish(b, conn, func(reason error) { e.kicked <- reason })
	require.NoError(t, err)
	return e
}

func (r *rig) status(t *testing.T) string {
	t.Helper()
	var st api.Stream
	r.owner.Call(t, "GET", "/v1/me/streams/"+r.id, nil).Into(t, 200, &st)
	return string(st.Status)
}

func TestTheHubFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// Admitted as A, B, but attached as B, A: in the database B publishes.
	connA, connB := id.New(id.Publisher), id.New(id.Publisher)
	a, b := r.admit(t, connA), r.admit(t, connB)
	second := r.attach(t, b, connB)
	first := r.attach(t, a, connA)
	require.ErrorIs(t, <-second.kicked, hub.ErrReplaced)
	r.reports.Playable(r.id, connA)
	require.ErrorIs(t, <-first.kicked, hub.ErrReplaced, "it is on air, but was replaced")
	_, onAir := r.Hub.Stream(r.id)
	require.False(t, onAir)
	r.reports.Unpublish(t.Context(), connA)
	r.reports.Unpublish(t.Context(), connB)
	require.Equal(t, "IDLE", r.status(t))
}

func TestAnEndIsWrittenAfterItsStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	conn := id.New(id.Publisher)
	r.attach(t, r.admit(t, conn), conn)
	r.reports.Playable(r.id, conn)
	r.reports.Unpublish(t.Context(), conn)
	require.Equal(t, "ENDED", r.status(t), "started and ended, however the reports overtake each other")
}

func TestARefusalHasAnRTMPCode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.reports.Publish(t.Context(), rtmp.Attempt{ConnID: "conn-x", Key: "live_wrong", RemoteIP: netip.MustParseAddr("192.0.2.1")})
	var refusal *rtmp.StatusError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "NetStream.Publish.BadName", refusal.Code)
}
