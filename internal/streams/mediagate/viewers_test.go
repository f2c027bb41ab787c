package mediagate_test

import (
	"log/slog"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// crowd is a stream on air of a tenant whose plan allows three viewers, on a server with a database of its own.
func crowd(t *testing.T) (r *rig, st *hub.Stream) {
	t.Helper()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), NodeURL: "http://node.example"})
	reports := mediagate.NewReports(t.Context(), slog.New(slog.DiscardHandler))
	reports.Connect(s.Streams, s.Hub)
	t.Cleanup(reports.Close)
	owner := s.Register(t)
	made := owner.Stream(t, nil)
	r = &rig{s, reports, owner, made.ID, made.StreamKey}
	r.allow(t, 3)
	conn := id.New(id.Publisher)
	r.attach(t, r.admit(t, conn), conn)
	st, ok := s.Hub.Stream(r.id)
	require.True(t, ok)
	return r, st
}

// allow sets the limit of viewers of FREE, and waits until it holds everywhere.
func (r *rig) allow(t *testing.T, viewers int) {
	t.Helper()
	_, err := r.Pool.Exec(t.Context(), "UPDATE plans SET max_viewers = $1 WHERE tier = 'FREE'", viewers)
	require.NoError(t, err)
	r.Clock.Advance(10 * time.Second)
}

const full = "the plan FREE allows 3 viewers at one time; STARTER allows 1000"

// TestAPlanBoundsViewers checks that exactly as many viewers are admitted at once as the plan allows, whether or not they are
// counted meanwhile, and that a viewer who leaves makes room.
func TestAPlanBoundsViewers(t *testing.T) {
	t.Parallel()
	r, st := crowd(t)
	var admitted atomic.Int64
	var together sync.WaitGroup
	for n := range 50 {
		together.Go(func() {
			name := strconv.Itoa(n)
			refusal := r.Viewers.Admit(t.Context(), r.owner.TenantID, name, netip.Addr{})
			if refusal != "" {
				if refusal != full {
					t.Error(refusal)
				}
				return
			}
			admitted.Add(1)
			if n%2 == 0 {
				r.Viewers.Count(r.owner.TenantID, name, func() { st.AddViewers(1) })
			}
		})
	}
	together.Wait()
	require.EqualValues(t, 3, admitted.Load())
	counted := r.Hub.Viewers(r.owner.TenantID)
	r.Clock.Advance(10 * time.Second)
	for range 3 - counted {
		require.Empty(t, r.Viewers.Admit(t.Context(), r.owner.TenantID, "late", netip.Addr{}), "the places of players that never came are free")
		r.Viewers.Count(r.owner.TenantID, "late", func() { st.AddViewers(1) })
	}
	require.Equal(t, full, r.Viewers.Admit(t.Context(), r.owner.TenantID, "one more", netip.Addr{}))
	require.Empty(t, r.Viewers.AdmitPeer(t.Context(), r.owner.TenantID, "conn", true), "a viewer that changes to the room is no new one")
	r.Clock.Advance(time.Second)
	require.Equal(t, full, r.Viewers.AdmitPeer(t.Context(), r.owner.TenantID, "conn", false))
	st.AddViewers(-1)
	require.Empty(t, r.Viewers.Admit(t.Context(), r.owner.TenantID, "next", netip.Addr{}))
	require.Empty(t, r.Viewers.Admit(t.Context(), r.Register(t).TenantID, "elsewhere", netip.Addr{}), "another tenant's viewers don't count")
}

// TestViewersOfAllServersCount checks that viewers of a stream on another node, and players on SRS servers, use up the limit.
func TestViewersOfAllServersCount(t *testing.T) {
	t.Parallel()
	r, st := crowd(t)
	other := apitest.New(t, apitest.Options{Pool: r.Pool, Node: "node_other", NodeURL: "http://other.example"})
	st.AddViewers(1)
	require.NoError(t, r.Streams.ShareMedia(t.Context(), []string{r.id}))
	play := func(client string) error {
		return other.Streams.IngestPlay(t.Context(), stream.Callback{ServerID: "srs", ClientID: client, Stream: r.key})
	}
	var played atomic.Int64
	var together sync.WaitGroup
	for n := range 10 {
		together.Go(func() {
			if err := play(strconv.Itoa(n)); err == nil {
				played.Add(1)
			} else if !problem.Is(err, "plan_limit") {
				t.Error(err)
			}
		})
	}
	together.Wait()
	require.EqualValues(t, 2, played.Load())
	require.Equal(t, full, other.Viewers.Admit(t.Context(), r.owner.TenantID, "a", netip.Addr{}))
	require.Equal(t, full, r.Viewers.Admit(t.Context(), r.owner.TenantID, "b", netip.Addr{}))
	require.True(t, problem.Is(play("late"), "plan_limit"))
	for n := range 10 {
		require.NoError(t, other.Streams.IngestStop(t.Context(), stream.Callback{ServerID: "srs", ClientID: strconv.Itoa(n), Stream: r.key}))
	}
	r.Clock.Advance(2 * time.Second)
	other.Clock.Advance(2 * time.Second)
	require.NoError(t, r.Streams.ShareMedia(t.Context(), []string{r.id}))
	require.Empty(t, other.Viewers.Admit(t.Context(), r.owner.TenantID, "a", netip.Addr{}))
}

// TestUsedUpMinutesBlockNewViewers checks the meters that viewers use, with the overage BLOCK.
func TestUsedUpMinutesBlockNewViewers(t *testing.T) {
	t.Parallel()
	r, st := crowd(t)
	st.AddViewers(1)
	_, err := r.Pool.Exec(t.Context(), `UPDATE plan_allowances SET included = 1, overage = 'BLOCK' WHERE tier = 'FREE' AND meter = 'EGRESS_BYTES'`)
	require.NoError(t, err)
	now := r.Clock.Now()
	_, err = r.Usage.Record(t.Context(), []usage.Interval{{
		Owner: usage.Owner{TenantID: r.owner.TenantID}, Source: "test", ResourceID: r.id, Meter: usage.EgressBytes, From: now, To: now, Amount: 1,
	}})
	require.NoError(t, err)
	r.Clock.Advance(usage.BlockAge)
	const text = "the plan FREE includes 1 EGRESS_BYTES in a period, and they are used up; STARTER allows more"
	require.Equal(t, text, r.Viewers.Admit(t.Context(), r.owner.TenantID, "a", netip.Addr{}))
	err = r.Streams.IngestPlay(t.Context(), stream.Callback{ServerID: "srs", ClientID: "1", Stream: r.key})
	require.True(t, problem.Is(err, "plan_limit"), "%v", err)
	require.Equal(t, 1, r.Hub.Viewers(r.owner.TenantID), "the viewer who is there stays")
}

// TestALoweredLimitOfViewersStopsNewOnes checks that a lower limit removes no viewer.
func TestALoweredLimitOfViewersStopsNewOnes(t *testing.T) {
	t.Parallel()
	r, st := crowd(t)
	st.AddViewers(3)
	r.allow(t, 1)
	require.Equal(t, "the plan FREE allows 1 viewers at one time; STARTER allows 1000", r.Viewers.Admit(t.Context(), r.owner.TenantID, "a", netip.Addr{}))
	require.Equal(t, 3, r.Hub.Viewers(r.owner.TenantID))
	r.allow(t, 4)
	require.Empty(t, r.Viewers.Admit(t.Context(), r.owner.TenantID, "a", netip.Addr{}))
}
