package recording_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
)

func TestRecordingFromTheFirstFrameToReady(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	conn, grant := r.connect(t, r.Server, stream.SourceRTMP)
	require.True(t, grant.Record)
	require.Empty(t, r.list(t))
	_, err := r.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	rec := r.only(t, recording.Recording)
	require.Nil(t, rec.URL)
	wanted, ok, err := r.Recordings.Wanted(t.Context(), r.st.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, wanted, rec.ID)
	here, err := r.Recordings.WantedHere(t.Context())
	require.NoError(t, err)
	require.Equal(t, []recording.Want{{StreamID: r.st.ID, RecordingID: rec.ID}}, here)

	take := r.open(t, r.Server, rec.ID)
	began := r.Clock.Now().Add(-700 * time.Millisecond)
	r.save(t, take, began, 1, 2)
	r.save(t, take, began, 1, 2) // a repetition
	r.save(t, take, began.Add(2*segmentTime), 3)
	require.Equal(t, began, r.only(t, recording.Recording).StartedAt)
	r.Clock.Advance(time.Minute)
	r.leave(t, conn)
	require.Equal(t, r.Clock.Now(), *r.only(t, recording.Processing).EndedAt)
	_, ok, err = r.Recordings.Wanted(t.Context(), r.st.ID)
	require.NoError(t, err)
	require.False(t, ok)
	require.Empty(t, r.work(t), "a take is open")
	r.save(t, take, began.Add(3*segmentTime), 4)
	r.close(t, take, "")
	r.close(t, take, "repeated")
	require.Equal(t, []string{"recording_finalize"}, r.work(t))

	rec = r.only(t, recording.Ready)
	require.Equal(t, (4 * segmentTime).Milliseconds(), *rec.DurationMs)
	require.EqualValues(t, 4*110+30, *rec.SizeBytes)
	require.Nil(t, rec.IncompleteReason)
	require.Equal(t, r.Clock.Now().AddDate(0, 0, 7), *rec.RetainUntil, "the plan FREE keeps it for a week")
	require.Contains(t, *rec.URL, "https://api.example.test/vod/")
	require.Contains(t, *rec.URL, "/"+rec.ID+"/index.m3u8")

	for range 2 {
		require.NoError(t, r.Recordings.FinishRecording(t.Context(), rec.ID))
		r.sweep(t)
	}
	require.Empty(t, r.work(t))
	events := r.ready(t)
	require.Len(t, events, 1)
	require.Equal(t, rec.ID, events[0]["recordingId"])
	require.Equal(t, "launch", events[0]["projectId"])
	require.InDelta(t, 16.002, events[0]["durationSec"], 0)
	sums, err := r.Usage.GetUsage(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	for _, reading := range sums.Readings {
		if reading.Meter == usage.RecordingMinutes {
			require.EqualValues(t, 1, reading.Used)
		}
	}
}

func TestNothingWasRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	r.leave(t, r.air(t, r.Server))
	require.Equal(t, []string{"recording_finalize"}, r.work(t))
	require.Equal(t, "nothing was recorded: it ended before the first segment was complete", *r.only(t, recording.Failed).Error)
	_, err := r.Recordings.OpenTake(t.Context(), r.list(t)[0].ID, "key")
	require.True(t, problem.Is(err, "conflict"))
	_, err = r.Recordings.Media(t.Context(), r.list(t)[0].ID, nil)
	require.True(t, problem.Is(err, "not_found"))
	require.Empty(t, r.ready(t))
}

// TestReconnectContinuesTheRecording: also on another node, which opens a take of its own.
func TestReconnectContinuesTheRecording(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(60))
	other := apitest.New(t, apitest.Options{Pool: r.Pool})
	conn := r.air(t, r.Server)
	rec := r.only(t, recording.Recording)
	first, began := r.open(t, r.Server, rec.ID), r.Clock.Now()
	r.save(t, first, began, 1)
	r.leave(t, conn)
	r.only(t, recording.Recording)
	r.Clock.Advance(20 * time.Second)

	conn, grant := r.connect(t, other, stream.SourceRTMP)
	require.True(t, grant.Record)
	_, err := other.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	_, ok, err := r.Recordings.Wanted(t.Context(), r.st.ID)
	require.NoError(t, err)
	require.False(t, ok, "it is the other node's")
	_, err = r.Recordings.OpenTake(t.Context(), rec.ID, "key")
	require.True(t, problem.Is(err, "conflict"))
	second := r.open(t, other, rec.ID)
	require.Equal(t, first.Take+1, second.Take)
	again := began.Add(20 * time.Second)
	r.save(t, second, again, 1)
	r.close(t, first, "")

	r.Clock.Advance(10 * time.Second)
	require.NoError(t, r.Streams.ForceStopStream(t.Context(), r.caller.Actor(), r.st.ID, "enough"))
	require.Empty(t, r.work(t))
	r.close(t, second, "")
	r.work(t)
	require.Equal(t, (2 * segmentTime).Milliseconds(), *r.only(t, recording.Ready).DurationMs)
	m, err := other.Recordings.Media(t.Context(), rec.ID, nil)
	require.NoError(t, err)
	require.Len(t, m.Inits, 2)
	require.Equal(t, []recording.TakeSegment{
		{Take: first.Take, Segment: segment(1, began)}, {Take: second.Take, Segment: segment(1, again)},
	}, m.Segments)
	require.Len(t, r.ready(t), 1)
}

// TestMediaThatIsKnownIsNotReadAgain: also when an earlier take still grows.
func TestMediaThatIsKnownIsNotReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(60))
	r.air(t, r.Server)
	rec := r.only(t, recording.Recording)
	began := r.Clock.Now()
	first, second := r.open(t, r.Server, rec.ID), r.open(t, r.Server, rec.ID)
	r.save(t, first, began, 1, 2)
	known := []recording.TakeEnd{{Take: first.Take, Init: 1, Segment: 2}}
	read := func(known ...recording.TakeEnd) (inits int, segments []int) {
		m, err := r.Recordings.Media(t.Context(), rec.ID, known)
		require.NoError(t, err)
		for _, s := range m.Segments {
			segments = append(segments, 100*s.Take+s.Number)
		}
		return len(m.Inits), segments
	}
	inits, segments := read(known...)
	require.Zero(t, inits)
	require.Empty(t, segments)
	r.save(t, second, began.Add(time.Minute), 1)
	r.save(t, first, began.Add(2*segmentTime), 3)
	inits, segments = read(known...)
	require.Equal(t, 1, inits)
	require.Equal(t, []int{103, 201}, segments)
	inits, segments = read()
	require.Equal(t, 2, inits)
	require.Equal(t, []int{101, 102, 103, 201}, segments)
}

// TestALongRecordingIsNotContinued: it ends with what it has.
func TestALongRecordingIsNotContinued(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]string{
		"segments": "INSERT INTO recording_segments SELECT $1, 1, n, '', 1, false, now(), 4000000, 0, 0, 1, 1 FROM generate_series(2, 100000) n",
		"takes":    "UPDATE recordings SET takes = 1000 WHERE id = $1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, recorded(60))
			r.air(t, r.Server)
			take := r.open(t, r.Server, r.only(t, recording.Recording).ID)
			r.save(t, take, r.Clock.Now(), 1)
			r.close(t, take, "")
			_, err := r.Pool.Exec(t.Context(), fill, take.RecordingID)
			require.NoError(t, err)
			_, err = r.Recordings.OpenTake(t.Context(), take.RecordingID, "key")
			require.True(t, problem.Is(err, "conflict"))
			r.work(t)
			require.Equal(t, "a recording can't have more segments", *r.only(t, recording.Ready).IncompleteReason)
		})
	}
}

func TestStartAndStopByHand(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]any{"reconnectWindowSec": 60})
	_, err := r.Recordings.StartRecording(t.Context(), r.caller, r.st.ID, recording.Input{})
	require.True(t, problem.Is(err, "conflict"))
	conn := r.air(t, r.Server)
	require.Empty(t, r.list(t))
	rec, err := r.Recordings.StartRecording(t.Context(), r.caller, r.st.ID, recording.Input{Name: new("Part 1")})
	require.NoError(t, err)
	_, err = r.Recordings.StartRecording(t.Context(), r.caller, r.st.ID, recording.Input{})
	require.True(t, problem.Is(err, "conflict"))
	for range 2 {
		stopped, err := r.Recordings.StopRecording(t.Context(), r.caller, r.st.ID, rec.ID)
		require.NoError(t, err)
		require.Equal(t, recording.Processing, stopped.Status)
	}
	r.leave(t, conn)
	_, grant := r.connect(t, r.Server, stream.SourceRTMP)
	require.False(t, grant.Record)
	require.Equal(t, []string{"recording_finalize"}, r.work(t))
	require.Len(t, r.list(t), 1)
}

// TestAStoppedRecordingStaysStopped: a reconnect doesn't begin another one, but the next broadcast does.
func TestAStoppedRecordingStaysStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(60))
	conn := r.air(t, r.Server)
	_, err := r.Recordings.StopRecording(t.Context(), r.caller, r.st.ID, r.only(t, recording.Recording).ID)
	require.NoError(t, err)
	r.leave(t, conn)
	conn, grant := r.connect(t, r.Server, stream.SourceRTMP)
	require.False(t, grant.Record)
	_, err = r.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	require.Len(t, r.list(t), 1)
	require.NoError(t, r.Streams.ForceStopStream(t.Context(), r.caller.Actor(), r.st.ID, "enough"))
	r.Clock.Advance(10 * time.Minute)
	r.air(t, r.Server)
	require.Len(t, r.list(t), 2)
}

func TestSuspensionEndsRecordings(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(60))
	r.air(t, r.Server)
	take := r.open(t, r.Server, r.only(t, recording.Recording).ID)
	r.save(t, take, r.Clock.Now(), 1)
	_, err := r.Console.SuspendTenant(t.Context(), platform.Caller{AdminID: "adm_1"}, r.owner.TenantID, "unpaid")
	require.NoError(t, err)
	r.only(t, recording.Processing)
	r.close(t, take, "")
	r.work(t)
	r.only(t, recording.Ready)
}

func TestTheRecorderEndsARecording(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	r.air(t, r.Server)
	take := r.open(t, r.Server, r.only(t, recording.Recording).ID)
	r.save(t, take, r.Clock.Now(), 1)
	for range 2 {
		require.NoError(t, r.Recordings.EndRecording(t.Context(), take.RecordingID, "the disk is full"))
	}
	require.Empty(t, r.work(t))
	r.close(t, take, "the last segment is missing")
	r.work(t)
	require.Equal(t, "the disk is full", *r.only(t, recording.Ready).IncompleteReason)
	require.Error(t, r.Recordings.SaveSegments(t.Context(), take.RecordingID, take.Take, nil, []recording.Segment{segment(2, r.Clock.Now())}))
	require.EqualValues(t, 110+30, *r.only(t, recording.Ready).SizeBytes)
}

func TestAKilledProcessFindsItsTakes(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(60))
	conn := r.air(t, r.Server)
	take := r.open(t, r.Server, r.only(t, recording.Recording).ID)
	r.save(t, take, r.Clock.Now(), 1)
	open, err := r.Recordings.OpenTakes(t.Context())
	require.NoError(t, err)
	require.Len(t, open, 1)
	require.Equal(t, take, open[0].TakeID)
	again, err := r.Recordings.OpenTake(t.Context(), take.RecordingID, open[0].Key)
	require.NoError(t, err)
	require.Equal(t, take.Take, again, "the answer to the first call was lost")
	ended, err := r.Recordings.BeatTakes(t.Context(), []recording.TakeID{take})
	require.NoError(t, err)
	require.Empty(t, ended)
	r.save(t, take, r.Clock.Now().Add(segmentTime), 2) // what the killed process had on its disk
	r.close(t, take, "the server was killed")
	ended, err = r.Recordings.BeatTakes(t.Context(), []recording.TakeID{take})
	require.NoError(t, err)
	require.Equal(t, []recording.TakeID{take}, ended)
	_, err = r.Recordings.OpenTake(t.Context(), take.RecordingID, open[0].Key)
	require.True(t, problem.Is(err, "conflict"))
	next := r.open(t, r.Server, take.RecordingID)
	r.close(t, next, "")
	r.leave(t, conn)
	require.NoError(t, r.Streams.ForceStopStream(t.Context(), r.caller.Actor(), r.st.ID, "enough"))
	r.work(t)
	require.Equal(t, "the server was killed", *r.only(t, recording.Ready).IncompleteReason)
}

func TestOutsideRecorder(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, apitest.Options{RecorderURL: "https://recorder.example"}, recorded(0))
	srs, _ := r.connect(t, r.Server, stream.SourceSRS)
	rec := r.only(t, recording.Recording)
	require.Equal(t, recording.External, rec.Source)
	_, err := r.Recordings.OpenTake(t.Context(), rec.ID, "key")
	require.True(t, problem.Is(err, "conflict"))
	r.pass(t, 5*time.Minute)
	r.sweep(t)
	r.only(t, recording.Recording)
	r.leave(t, srs)
	r.only(t, recording.Processing)
	report := recording.Report{Ready: true, PlaylistURL: new("https://recorder.example/a.m3u8"), DurationSec: new(12.3456), SizeBytes: new(int64(7))}
	for _, changes := range []bool{true, false} {
		changed, err := r.Recordings.FinalizeRecording(t.Context(), rec.ID, report)
		require.NoError(t, err)
		require.Equal(t, changes, changed)
	}
	r.work(t)
	rec = r.only(t, recording.Ready)
	require.EqualValues(t, 12346, *rec.DurationMs)
	m, err := r.Recordings.Media(t.Context(), rec.ID, nil)
	require.NoError(t, err)
	require.Equal(t, *report.PlaylistURL, m.PlaylistURL)
	require.Len(t, r.ready(t), 1)

	srs, _ = r.connect(t, r.Server, stream.SourceSRS)
	r.leave(t, srs)
	r.pass(t, 11*time.Minute)
	r.sweep(t)
	require.Equal(t, "the outside recorder did not report the end within 10m0s", *r.list(t)[1].Error)
}

// recorderPeer is an outside recorder. It refuses the first request.
type recorderPeer struct {
	*httptest.Server

	mu      sync.Mutex
	secret  string
	notices []recording.Notice
	asked   int
}

func newRecorderPeer(t *testing.T, secret string) *recorderPeer {
	t.Helper()
	p := &recorderPeer{secret: secret}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *recorderPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	mac := hmac.New(sha256.New, []byte(p.secret))
	mac.Write(body)
	var n recording.Notice
	p.asked++
	switch {
	case err != nil, r.Method != http.MethodPost, r.Header.Get("x-recorder-signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)),
		json.Unmarshal(body, &n) != nil:
		w.WriteHeader(http.StatusUnauthorized)
	case p.asked == 1:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		p.notices = append(p.notices, n)
		w.WriteHeader(http.StatusAccepted)
	}
}

func TestTheOutsideRecorderIsNotified(t *testing.T) {
	t.Parallel()
	peer := newRecorderPeer(t, "shared")
	r := newRigOn(t, apitest.Options{RecorderURL: peer.URL, RecorderSecret: "shared"}, recorded(0))
	srs, _ := r.connect(t, r.Server, stream.SourceSRS)
	rec := r.only(t, recording.Recording)
	r.work(t)
	require.Len(t, r.notices, 1)
	start := r.notices[0]
	require.Error(t, r.Recordings.NotifyOutside(t.Context(), start.RecordingID, start.Event), "it answers 503")
	require.NoError(t, r.Recordings.NotifyOutside(t.Context(), start.RecordingID, start.Event))
	r.leave(t, srs)
	r.work(t)
	require.Len(t, r.notices, 2)
	stop := r.notices[1]
	require.NoError(t, r.Recordings.NotifyOutside(t.Context(), start.RecordingID, start.Event), "a late start is left out")
	require.NoError(t, r.Recordings.NotifyOutside(t.Context(), stop.RecordingID, stop.Event))
	require.Len(t, peer.notices, 2)
	first, last := peer.notices[0], peer.notices[1]
	require.Equal(t, []any{"recording.start", rec.ID, r.owner.TenantID, r.st.ID}, []any{first.Event, first.RecordingID, first.TenantID, first.StreamID})
	require.Regexp(t, `^https?://.+/v1/recorder/recordings/`+rec.ID+`/finalize$`, first.FinalizeURL)
	streamID, expires, err := r.Playback.CheckPlayback(t.Context(), first.PlaybackToken)
	require.NoError(t, err)
	require.Equal(t, r.st.ID, streamID)
	require.Equal(t, 24*time.Hour, expires.Sub(r.Clock.Now().Truncate(time.Second)))
	require.Nil(t, first.EndedAt)
	require.Equal(t, "recording.stop", last.Event)
	require.NotNil(t, last.EndedAt)
	_, err = r.Recordings.FinalizeRecording(t.Context(), rec.ID,
		recording.Report{Ready: true, PlaylistURL: new("https://recorder.example/a.m3u8"), DurationSec: new(1.5)})
	require.NoError(t, err)
	require.NoError(t, r.Recordings.NotifyOutside(t.Context(), stop.RecordingID, stop.Event), "the result is there")
	require.Len(t, peer.notices, 2)
}

func TestAnSRSStreamWithoutARecorder(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	r.connect(t, r.Server, stream.SourceSRS)
	require.Empty(t, r.list(t))
	_, err := r.Recordings.StartRecording(t.Context(), r.caller, r.st.ID, recording.Input{})
	require.True(t, problem.Is(err, "conflict"))
	// An encoder of this server takes over; the broadcast has no recording yet.
	_, grant := r.connect(t, r.Server, stream.SourceRTMP)
	require.True(t, grant.Record)
}
