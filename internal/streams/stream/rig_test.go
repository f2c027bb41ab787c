package stream_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// rig is one stream of one tenant, on a server of its own.
type rig struct {
	*apitest.Server

	owner  *apitest.Caller
	caller tenancy.Caller
	st     api.Stream
}

func newRig(t *testing.T, windowSec int) *rig {
	t.Helper()
	return newRigOn(t, apitest.Options{}, windowSec)
}

func newRigOn(t *testing.T, o apitest.Options, windowSec int) *rig {
	t.Helper()
	s := apitest.New(t, o)
	owner := s.Register(t)
	return &rig{s, owner, tenancy.Caller{TenantID: owner.TenantID, UserID: owner.UserID}, owner.Stream(t, map[string]any{"reconnectWindowSec": windowSec})}
}

// connect publishes with a new connection.
func (r *rig) connect(t *testing.T, source string) string {
	t.Helper()
	conn := id.New(id.Publisher)
	g, err := r.Streams.Publish(t.Context(), attempt(conn, source, r.st.StreamKey))
	require.NoError(t, err)
	require.Equal(t, r.st.ID, g.StreamID)
	return conn
}

// air connects an encoder and puts the stream on air.
func (r *rig) air(t *testing.T) string {
	t.Helper()
	conn := r.connect(t, stream.SourceRTMP)
	r.start(t, conn)
	return conn
}

// start reports that the connection's media can be played, and returns whether it
// was still the current one.
func (r *rig) start(t *testing.T, conn string) (current bool) {
	t.Helper()
	current, err := r.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	return current
}

func attempt(conn, source, key string) stream.Attempt {
	return stream.Attempt{PublisherID: conn, Source: source, Key: key, RemoteIP: "192.0.2.1"}
}

func (r *rig) leave(t *testing.T, conn string) {
	t.Helper()
	require.NoError(t, r.Streams.Unpublish(t.Context(), conn))
}

func (r *rig) row(t *testing.T) db.Stream {
	t.Helper()
	v, err := r.Streams.GetStream(t.Context(), r.caller, r.st.ID)
	require.NoError(t, err)
	return v.Stream
}

func (r *rig) is(t *testing.T, status string, events ...string) {
	t.Helper()
	require.Equal(t, status, r.row(t).Status)
	require.Equal(t, events, r.events(t))
}

// events lists the names of the stream's events in order.
func (r *rig) events(t *testing.T) []string {
	t.Helper()
	rows, err := db.New(r.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	var names []string
	for _, e := range rows {
		require.Equal(t, r.st.ID, e.Subject)
		names = append(names, e.Event)
	}
	return names
}

// open counts the stream's connections that have not ended.
func (r *rig) open(t *testing.T) int {
	t.Helper()
	var n int
	require.NoError(t, r.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM publishers WHERE stream_id = $1 AND ended_at IS NULL", r.st.ID).Scan(&n))
	return n
}

// times repeats a name for comparisons.
func times(n int, names ...string) []string { return slices.Repeat(names, n) }
