package stream_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/audit"
)

const (
	startedEvent = "stream.started"
	endedEvent   = "stream.ended"
)

func TestBroadcastFromConnectionToEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	conn := r.connect(t, stream.SourceRTMP)
	r.is(t, stream.Idle)
	r.start(t, conn)
	r.start(t, conn)
	r.is(t, stream.Live, startedEvent)
	r.Clock.Advance(90 * time.Second)
	r.leave(t, conn)
	r.leave(t, conn)
	r.is(t, stream.Ended, startedEvent, endedEvent)
	r.start(t, conn) // a late report
	r.is(t, stream.Ended, startedEvent, endedEvent)
	require.Zero(t, r.open(t))

	rows, err := db.New(r.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	var envelope struct {
		Event      string         `json:"event"`
		TenantID   string         `json:"tenantId"`
		OccurredAt string         `json:"occurredAt"`
		Data       map[string]any `json:"data"`
	}
	require.NoError(t, json.Unmarshal(rows[1].Payload, &envelope))
	require.Equal(t, endedEvent, envelope.Event)
	require.Equal(t, r.owner.TenantID, envelope.TenantID)
	require.Equal(t, r.st.ID, envelope.Data["streamId"])
	require.Equal(t, "Launch", envelope.Data["name"])
	require.Equal(t, "LOW_LATENCY", envelope.Data["mode"])
	require.Equal(t, "disconnected", envelope.Data["reason"])
	require.InDelta(t, 90, envelope.Data["durationSec"], 0)
	require.Equal(t, envelope.OccurredAt, envelope.Data["endedAt"])
}

func TestPublisherThatNeverShowedAnything(t *testing.T) {
	t.Parallel()
	for _, window := range []int{0, 60} {
		r := newRig(t, window)
		r.leave(t, r.connect(t, stream.SourceRTMP))
		r.is(t, stream.Idle)
		require.Nil(t, r.row(t).PublisherID)
	}
}

func TestReportsInTheWrongOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	conn := r.connect(t, stream.SourceRTMP)
	r.leave(t, conn)
	r.start(t, conn)
	r.is(t, stream.Idle)
	r.start(t, "pub_unknown")
	r.leave(t, "pub_unknown")
	require.NoError(t, r.Streams.Reject(t.Context(), "pub_unknown", "x"))
	r.is(t, stream.Idle)

	_, err := r.Streams.Publish(t.Context(), attempt(conn, stream.SourceRTMP, r.st.StreamKey))
	require.NoError(t, err, "the same answer as the first time")
	require.Nil(t, r.row(t).PublisherID, "but the connection is gone")
}

func TestAConnectionBelongsToOneStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	conn := r.air(t)
	other := r.owner.Stream(t, nil)
	_, err := r.Streams.Publish(t.Context(), attempt(conn, stream.SourceRTMP, other.StreamKey))
	require.True(t, problem.Is(err, "connection_taken"), "%v", err)
	v, err := r.Streams.GetStream(t.Context(), r.caller, other.ID)
	require.NoError(t, err)
	require.Equal(t, stream.Idle, v.Status)
	r.is(t, stream.Live, startedEvent)
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	first := r.air(t)
	started := r.row(t).StartedAt
	r.Clock.Advance(time.Second)
	second := r.connect(t, stream.SourceRTMP)
	require.Equal(t, second, *r.row(t).PublisherID)
	require.Equal(t, 1, r.open(t), "the old connection is closed first")
	r.leave(t, first)
	r.is(t, stream.Live, startedEvent)
	require.False(t, r.start(t, first), "the old one is not heard any more")
	require.True(t, r.start(t, second))
	require.Equal(t, started, r.row(t).StartedAt, "the same broadcast")
	r.is(t, stream.Live, startedEvent)
	r.leave(t, second)
	r.is(t, stream.Ended, startedEvent, endedEvent)
}

func TestTakeOverByAnEncoderThatLeavesBeforeItsKeyFrame(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.air(t)
	second := r.connect(t, stream.SourceRTMP)
	r.leave(t, second)
	r.is(t, stream.Ended, startedEvent, endedEvent)
}

func TestBackWithinTheWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t, 60)
	conn := r.air(t)
	started := r.row(t).StartedAt
	r.leave(t, conn)
	r.is(t, stream.Reconnecting, startedEvent)
	require.Equal(t, r.Clock.Now().Add(time.Minute).UTC(), r.row(t).ReconnectUntil.UTC())

	again, err := r.Streams.ExpireReconnect(t.Context(), r.st.ID)
	require.NoError(t, err)
	require.Equal(t, r.Clock.Now().Add(time.Minute).UTC(), again.UTC(), "not yet")

	r.Clock.Advance(time.Minute - time.Millisecond)
	conn = r.air(t)
	require.Equal(t, started, r.row(t).StartedAt)
	r.Clock.Advance(time.Hour)
	again, err = r.Streams.ExpireReconnect(t.Context(), r.st.ID)
	require.NoError(t, err)
	require.True(t, again.IsZero(), "it is on air")
	r.is(t, stream.Live, startedEvent)

	r.leave(t, conn) // and again
	r.is(t, stream.Reconnecting, startedEvent)
}

func TestTheWindowEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 60)
	r.leave(t, r.air(t))
	var scheduled time.Time
	require.NoError(t, r.Pool.QueryRow(t.Context(),
		"SELECT scheduled_at FROM river_job WHERE kind = 'stream_expire_reconnect' AND args->>'streamId' = $1", r.st.ID).Scan(&scheduled))
	require.Equal(t, r.Clock.Now().Add(time.Minute).UTC(), scheduled.UTC())
	r.Clock.Advance(time.Minute)
	var wg sync.WaitGroup
	for range 4 { // a job may run twice, also concurrently
		wg.Go(func() {
			again, err := r.Streams.ExpireReconnect(t.Context(), r.st.ID)
			if err != nil || !again.IsZero() {
				t.Error(again, err)
			}
		})
	}
	wg.Wait()
	r.is(t, stream.Ended, startedEvent, endedEvent)
	rows, err := db.New(r.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	require.Contains(t, string(rows[1].Payload), `"reason":"reconnect_expired"`)
	again, err := r.Streams.ExpireReconnect(t.Context(), "str_unknown")
	require.NoError(t, err)
	require.True(t, again.IsZero())
}

func TestTheWindowWaitsForAPublisherThatIsBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, 60)
	r.leave(t, r.air(t))
	r.Clock.Advance(time.Minute - time.Second)
	back := r.connect(t, stream.SourceRTMP)
	r.Clock.Advance(2 * time.Second)
	again, err := r.Streams.ExpireReconnect(t.Context(), r.st.ID)
	require.NoError(t, err)
	require.True(t, again.After(r.Clock.Now()), "its key frame is on the way")
	r.is(t, stream.Reconnecting, startedEvent)
	r.start(t, back)
	r.is(t, stream.Live, startedEvent)
}

func TestTheWindowDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	r := newRig(t, 60)
	r.leave(t, r.air(t))
	back := r.connect(t, stream.SourceRTMP)
	for range 100 {
		r.Clock.Advance(time.Minute)
		again, err := r.Streams.ExpireReconnect(t.Context(), r.st.ID)
		require.NoError(t, err)
		if again.IsZero() {
			break
		}
	}
	r.is(t, stream.Ended, startedEvent, endedEvent)
	r.leave(t, back)
	r.is(t, stream.Ended, startedEvent, endedEvent)
}

func TestForcedStop(t *testing.T) {
	t.Parallel()
	r := newRig(t, 60)
	conn := r.air(t)
	admin := audit.Actor{Type: "admin", ID: "adm_1"}
	require.NoError(t, r.Streams.ForceStopStream(t.Context(), admin, r.st.ID, "copyright"))
	r.is(t, stream.Ended, startedEvent, endedEvent)
	require.Zero(t, r.open(t))
	r.leave(t, conn) // its connection closes
	r.is(t, stream.Ended, startedEvent, endedEvent)

	refused := func() error {
		_, err := r.Streams.Publish(t.Context(), attempt(id.New(id.Publisher), stream.SourceRTMP, r.st.StreamKey))
		return err
	}
	require.True(t, problem.Is(refused(), "stream_stopped"))
	require.True(t, problem.Is(r.Streams.ForceStopStream(t.Context(), admin, r.st.ID, "again"), "conflict"))
	r.Clock.Advance(299 * time.Second)
	require.True(t, problem.Is(refused(), "stream_stopped"))
	r.Clock.Advance(time.Second)
	r.air(t)
	r.is(t, stream.Live, startedEvent, endedEvent, startedEvent)
	require.True(t, problem.Is(r.Streams.ForceStopStream(t.Context(), admin, "str_unknown", ""), "not_found"))

	entries, err := db.New(r.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: r.owner.TenantID, MaxRows: 1})
	require.NoError(t, err)
	require.Equal(t, "stream.force_stop", entries[0].Action)
	require.Equal(t, "adm_1", entries[0].ActorID)
	require.Equal(t, "copyright", *entries[0].Reason)
}

func TestForcedStopBeforeAnythingWasPlayable(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	conn := r.connect(t, stream.SourceRTMP)
	require.NoError(t, r.Streams.ForceStopStream(t.Context(), audit.System("test"), r.st.ID, ""))
	r.start(t, conn)
	r.is(t, stream.Idle)
	_, err := r.Streams.Publish(t.Context(), attempt("pub_x"+conn, stream.SourceRTMP, r.st.StreamKey))
	require.True(t, problem.Is(err, "stream_stopped"))
}

func TestForcedStopWhileReconnecting(t *testing.T) {
	t.Parallel()
	r := newRig(t, 60)
	r.leave(t, r.air(t))
	require.NoError(t, r.Streams.ForceStopStream(t.Context(), audit.System("test"), r.st.ID, ""))
	r.is(t, stream.Ended, startedEvent, endedEvent)
	r.Clock.Advance(time.Hour)
	again, err := r.Streams.ExpireReconnect(t.Context(), r.st.ID)
	require.NoError(t, err)
	require.True(t, again.IsZero())
	r.is(t, stream.Ended, startedEvent, endedEvent)
}

func TestKeyRotationWhileLive(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	conn := r.air(t)
	rotated, err := r.Streams.RotateStreamKey(t.Context(), r.caller, r.st.ID)
	require.NoError(t, err)
	r.is(t, stream.Live, startedEvent)
	_, err = r.Streams.Publish(t.Context(), attempt(conn+"x", stream.SourceRTMP, r.st.StreamKey))
	require.True(t, problem.Is(err, stream.CodeUnknownKey))
	require.Equal(t, conn, *r.row(t).PublisherID)
	_, err = r.Streams.Publish(t.Context(), attempt(conn+"y", stream.SourceRTMP, rotated.Key))
	require.NoError(t, err)
}

func TestSuspendedTenantMayNotPublish(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	for _, status := range []string{"SUSPENDED", "CANCELLED"} {
		r.owner.SetTenantStatus(t, status)
		_, err := r.Streams.Publish(t.Context(), attempt(id.New(id.Publisher), stream.SourceRTMP, r.st.StreamKey))
		require.True(t, problem.Is(err, "tenant_suspended"), status)
	}
	r.is(t, stream.Idle)
}

func TestRejectionShowsInTheHealth(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	conn := r.connect(t, stream.SourceRTMP)
	require.NoError(t, r.Streams.Reject(t.Context(), conn, "VP9 can't be carried; send H.264"))
	r.leave(t, conn)
	v, err := r.Streams.GetStream(t.Context(), r.caller, r.st.ID)
	require.NoError(t, err)
	require.Equal(t, stream.Rejected, v.Health.State)
	require.Equal(t, "VP9 can't be carried; send H.264", *v.Health.Reason)
	r.air(t)
	v, err = r.Streams.GetStream(t.Context(), r.caller, r.st.ID)
	require.NoError(t, err)
	require.Equal(t, stream.Good, v.Health.State)
}

func TestRecoverNodeEndsItsBroadcasts(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.owner.SetPlan(t, "ENTERPRISE") // FREE allows two streams
	r.air(t)
	window := r.owner.Stream(t, map[string]any{"reconnectWindowSec": 60})
	conn := id.New(id.Publisher)
	_, err := r.Streams.Publish(t.Context(), attempt(conn, stream.SourceRTMP, window.StreamKey))
	require.NoError(t, err)
	r.start(t, conn)
	srs := r.owner.Stream(t, nil)
	_, err = r.Streams.Publish(t.Context(), attempt(id.New(id.Publisher), stream.SourceSRS, srs.StreamKey))
	require.NoError(t, err)

	other := stream.New(stream.Config{Pool: r.Pool, Node: "node_other", Recordings: r.Recordings, Restreams: r.Restreams, Quotas: r.Quotas, Usage: r.Usage})
	require.NoError(t, other.RecoverNode(t.Context()))
	require.Equal(t, stream.Live, r.row(t).Status, "another node's")

	for range 2 {
		require.NoError(t, r.Streams.RecoverNode(t.Context()))
	}
	require.Equal(t, stream.Ended, r.row(t).Status)
	status := func(id string) string {
		v, err := r.Streams.GetStream(t.Context(), r.caller, id)
		require.NoError(t, err)
		return v.Status
	}
	require.Equal(t, stream.Reconnecting, status(window.ID), "its encoder may come back")
	require.Equal(t, stream.Live, status(srs.ID), "an SRS server lives on")
}

// comeAndGo publishes with a new connection and ends it, for concurrency tests.
func (r *rig) comeAndGo(t *testing.T, source string) {
	t.Helper()
	conn := id.New(id.Publisher)
	if _, err := r.Streams.Publish(t.Context(), attempt(conn, source, r.st.StreamKey)); err != nil {
		t.Error(err)
	}
	if _, err := r.Streams.Started(t.Context(), conn); err != nil {
		t.Error(err)
	}
	if err := r.Streams.Unpublish(t.Context(), conn); err != nil {
		t.Error(err)
	}
}

// TestManyAtOnce publishes and leaves on one stream by many connections
// concurrently.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]int{"without window": 0, "with window": 60} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, window)
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() { r.comeAndGo(t, []string{stream.SourceSRS, stream.SourceRTMP}[i%2]) })
			}
			wg.Wait()
			require.Zero(t, r.open(t))
			row := r.row(t)
			require.Nil(t, row.PublisherID)
			events := r.events(t)
			require.NotEmpty(t, events)
			for i, e := range events {
				require.Equal(t, []string{startedEvent, endedEvent}[i%2], e, "they alternate: %v", events)
			}
			if window == 0 {
				require.Equal(t, stream.Ended, row.Status)
				require.Equal(t, times(len(events)/2, startedEvent, endedEvent), events)
				return
			}
			require.Equal(t, stream.Reconnecting, row.Status)
			require.Equal(t, []string{startedEvent}, events, "one broadcast")
		})
	}
}

// TestCallbacksOfOneConnectionAtOnce: SRS may send both reports of a connection at
// the same moment.
func TestCallbacksOfOneConnectionAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	var wg sync.WaitGroup
	for range 20 {
		c := stream.Callback{ServerID: "vid-1", ClientID: id.New("c"), Stream: r.st.StreamKey, IP: "192.0.2.1"}
		for _, report := range []func() error{
			func() error { return r.Streams.IngestPublish(t.Context(), c) },
			func() error { return r.Streams.IngestUnpublish(t.Context(), c) },
			func() error { return r.Streams.IngestPublish(t.Context(), c) },
		} {
			wg.Go(func() {
				if err := report(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	require.Zero(t, r.open(t))
	require.NotEqual(t, stream.Live, r.row(t).Status)
	events := r.events(t)
	require.Zero(t, len(events)%2)
	for i, e := range events {
		require.Equal(t, []string{startedEvent, endedEvent}[i%2], e)
	}
}

func TestAHostPublishesFromTheStreamsRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	encoder := r.air(t)
	conn := id.New(id.Publisher)
	in := stream.Attempt{PublisherID: conn, Source: stream.SourceWebRTC, StreamID: r.st.ID, RemoteIP: "192.0.2.2"}
	g, err := r.Streams.Publish(t.Context(), in)
	require.NoError(t, err)
	began := r.row(t).StartedAt.Add(-time.Minute) // the broadcast continues
	require.Equal(t, stream.Grant{StreamID: r.st.ID, TenantID: r.owner.TenantID, LowLatency: true, Began: began}, g)
	require.True(t, r.start(t, conn), "it takes the encoder's place")
	require.False(t, r.start(t, encoder))
	r.is(t, stream.Live, startedEvent)
	// RecoverNode ends it after the process was killed, like an encoder's connection.
	require.NoError(t, r.Streams.RecoverNode(t.Context()))
	r.is(t, stream.Ended, startedEvent, endedEvent)

	r.air(t)
	require.NoError(t, r.Streams.ForceStopStream(t.Context(), audit.System("test"), r.st.ID, "no"))
	in.PublisherID = id.New(id.Publisher)
	_, err = r.Streams.Publish(t.Context(), in)
	require.ErrorContains(t, err, "it can be published again in")
	in.PublisherID, in.StreamID = id.New(id.Publisher), id.New(id.Stream)
	_, err = r.Streams.Publish(t.Context(), in)
	require.Equal(t, problem.Missing("stream"), err)
}
