package recording_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/blob"
	"showfloor/internal/base/id"
	"showfloor/internal/streams/recordgate"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// rig is one stream of one tenant, on a server with a database of its own, because the sweep covers all tenants.
type rig struct {
	*apitest.Server

	owner   *apitest.Caller
	caller  tenancy.Caller
	st      api.Stream
	store   blob.Store
	files   string                        // the folder of the files
	notices []recording.NotifyOutsideArgs // of jobs that work has removed
}

func newRig(t *testing.T, fields map[string]any) *rig {
	t.Helper()
	return newRigOn(t, apitest.Options{}, fields)
}

func newRigOn(t *testing.T, o apitest.Options, fields map[string]any) *rig {
	t.Helper()
	files := t.TempDir()
	return newRigWith(t, o, fields, openStore(t, blob.Config{Dir: files}), files)
}

func openStore(t *testing.T, c blob.Config) blob.Store {
	t.Helper()
	c.Log = slog.New(slog.DiscardHandler)
	store, err := blob.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// newRigWith makes a rig with a store. files is its folder, or another one if it has none.
func newRigWith(t *testing.T, o apitest.Options, fields map[string]any, store blob.Store, files string) *rig {
	t.Helper()
	o.Pool, o.Files, o.Clips, o.Texts = dbtest.New(t), store, recordgate.Clips{Files: store}, recordgate.Texts{Files: store}
	s := apitest.New(t, o)
	owner := s.Register(t)
	return &rig{s, owner, tenancy.Caller{TenantID: owner.TenantID, UserID: owner.UserID}, owner.Stream(t, fields), store, files, nil}
}

// recorded is a stream that is always recorded.
func recorded(windowSec int) map[string]any {
	return map[string]any{"recordingEnabled": true, "reconnectWindowSec": windowSec, "projectId": "launch"}
}

// connect publishes on a server.
func (r *rig) connect(t *testing.T, s *apitest.Server, source string) (conn string, g stream.Grant) {
	t.Helper()
	conn = id.New(id.Publisher)
	g, err := s.Streams.Publish(t.Context(), stream.Attempt{PublisherID: conn, Source: source, Key: r.st.StreamKey, RemoteIP: "192.0.2.1"})
	require.NoError(t, err)
	return conn, g
}

// air puts the stream on air, on a server.
func (r *rig) air(t *testing.T, s *apitest.Server) (conn string) {
	t.Helper()
	conn, _ = r.connect(t, s, stream.SourceRTMP)
	_, err := s.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	return conn
}

func (r *rig) leave(t *testing.T, conn string) {
	t.Helper()
	require.NoError(t, r.Streams.Unpublish(t.Context(), conn))
}

// list returns the stream's recordings, oldest first.
func (r *rig) list(t *testing.T) []recording.View {
	t.Helper()
	views, err := r.Recordings.ListStreamRecordings(t.Context(), r.caller, r.st.ID, nil, 100)
	require.NoError(t, err)
	for i, j := 0, len(views)-1; i < j; i, j = i+1, j-1 {
		views[i], views[j] = views[j], views[i]
	}
	return views
}

// only returns the only recording, which has this status.
func (r *rig) only(t *testing.T, status string) recording.View {
	t.Helper()
	views := r.list(t)
	require.Len(t, views, 1)
	require.Equal(t, status, views[0].Status, "%+v", views[0].Recording)
	return views[0]
}

func (r *rig) get(t *testing.T, recordingID string) recording.View {
	t.Helper()
	v, err := r.Recordings.GetRecording(t.Context(), r.caller, recordingID)
	require.NoError(t, err)
	return v
}

// open opens a take.
func (r *rig) open(t *testing.T, s *apitest.Server, recordingID string) recording.TakeID {
	t.Helper()
	take, err := s.Recordings.OpenTake(t.Context(), recordingID, id.New(id.Publisher))
	require.NoError(t, err)
	return recording.TakeID{RecordingID: recordingID, Take: take}
}

const segmentTime = 4*time.Second + 500*time.Microsecond

// segment has 110 bytes; its init has 30.
func segment(number int, at time.Time) recording.Segment {
	return recording.Segment{
		Number: number, Init: 1, StartedAt: at, Duration: segmentTime, Video: segmentTime, Audio: segmentTime - time.Microsecond, VideoBytes: 100, AudioBytes: 10,
	}
}

func firstInit() []recording.Init {
	return []recording.Init{{Number: 1, Codecs: "avc1.64001f,mp4a.40.2", Width: 1280, Height: 720, FrameRate: 30, VideoBytes: 20, AudioBytes: 10}}
}

// save stores segments of a take, one after the other from at.
func (r *rig) save(t *testing.T, take recording.TakeID, at time.Time, numbers ...int) {
	t.Helper()
	var list []recording.Segment
	for i, n := range numbers {
		list = append(list, segment(n, at.Add(time.Duration(i)*segmentTime)))
	}
	require.NoError(t, r.Recordings.SaveSegments(t.Context(), take.RecordingID, take.Take, firstInit(), list))
}

func (r *rig) close(t *testing.T, take recording.TakeID, reason string) {
	t.Helper()
	require.NoError(t, r.Recordings.CloseTake(t.Context(), take.RecordingID, take.Take, reason))
}

func (r *rig) sweep(t *testing.T) {
	t.Helper()
	require.NoError(t, r.Recordings.Sweep(t.Context()))
}

// pass moves the clock in steps in which the node writes its heartbeats.
func (r *rig) pass(t *testing.T, d time.Duration) {
	t.Helper()
	const step = 10 * time.Second
	for ; d > 0; d -= step {
		r.Clock.Advance(min(d, step))
		_, err := r.Streams.Heartbeat(t.Context(), nil)
		require.NoError(t, err)
	}
}

// work runs the jobs of recordings and returns their kinds.
func (r *rig) work(t *testing.T) (kinds []string) {
	t.Helper()
	rows, err := r.Pool.Query(t.Context(), "DELETE FROM river_job WHERE kind LIKE 'recording%' AND state <> 'scheduled' RETURNING kind, args")
	require.NoError(t, err)
	type job struct {
		kind string
		args json.RawMessage
	}
	var list []job
	for rows.Next() {
		var j job
		require.NoError(t, rows.Scan(&j.kind, &j.args))
		list = append(list, j)
	}
	require.NoError(t, rows.Err())
	for _, j := range list {
		if j.kind == (recording.MakeAssetsArgs{}).Kind() || j.kind == (recording.MakeClipArgs{}).Kind() {
			continue // this server makes no assets, and tests make clips themselves
		}
		kinds = append(kinds, j.kind)
		var args recording.NotifyOutsideArgs // the others have only its first field
		require.NoError(t, json.Unmarshal(j.args, &args))
		switch j.kind {
		case args.Kind():
			r.notices = append(r.notices, args)
		case recording.FinalizeArgs{}.Kind():
			require.NoError(t, r.Recordings.FinishRecording(t.Context(), args.RecordingID))
		default:
			require.NoError(t, r.Recordings.DeleteFiles(t.Context(), args.RecordingID))
		}
	}
	return kinds
}

// ready returns the data of the recording.ready events.
func (r *rig) ready(t *testing.T) (list []map[string]any) {
	t.Helper()
	rows, err := db.New(r.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	for _, e := range rows {
		if e.Event != "recording.ready" {
			continue
		}
		var envelope struct{ Data map[string]any }
		require.NoError(t, json.Unmarshal(e.Payload, &envelope))
		list = append(list, envelope.Data)
	}
	return list
}
