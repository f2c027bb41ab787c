package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/console/platform"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// publish puts a new stream on air.
func publish(t *testing.T, s *apitest.Server, owner *apitest.Caller) api.Stream {
	t.Helper()
	st := owner.Stream(t, nil)
	publishFrom(t, s, st, stream.SourceRTMP)
	return st
}

func publishFrom(t *testing.T, s *apitest.Server, st api.Stream, source string) {
	t.Helper()
	conn := id.New(id.Publisher)
	_, err := s.Streams.Publish(t.Context(), stream.Attempt{PublisherID: conn, Source: source, Key: st.StreamKey, RemoteIP: "192.0.2.1"})
	require.NoError(t, err)
	_, err = s.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
}

// startAndStop makes a recording of a stream on air, without a segment.
func startAndStop(t *testing.T, owner *apitest.Caller, streamID string) {
	t.Helper()
	var rec api.Recording
	owner.Call(t, "POST", "/v1/me/streams/"+streamID+"/recordings/start", nil).Into(t, 201, &rec)
	owner.Call(t, "POST", "/v1/me/streams/"+streamID+"/recordings/"+rec.ID+"/stop", nil).Is(t, 201)
}

// record records a new stream, with one segment of 4 s. The recording is READY, unless it goes on.
func record(t *testing.T, s *apitest.Server, owner *apitest.Caller, goesOn bool) (rec api.Recording) {
	t.Helper()
	st := publish(t, s, owner)
	owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/recordings/start", map[string]any{"name": "Part 1"}).Into(t, 201, &rec)
	take, err := s.Recordings.OpenTake(t.Context(), rec.ID, "key")
	require.NoError(t, err)
	require.NoError(t, s.Recordings.SaveSegments(t.Context(), rec.ID, take, nil, []recording.Segment{
		{Number: 1, Init: 1, StartedAt: s.Clock.Now(), Duration: 4 * time.Second, VideoBytes: 1000, AudioBytes: 100},
	}))
	if goesOn {
		return rec
	}
	require.NoError(t, s.Recordings.CloseTake(t.Context(), rec.ID, take, ""))
	owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/recordings/"+rec.ID+"/stop", nil).Is(t, 201)
	require.NoError(t, s.Recordings.FinishRecording(t.Context(), rec.ID))
	owner.Call(t, "GET", "/v1/me/recordings/"+rec.ID, nil).Into(t, 200, &rec)
	require.Equal(t, api.RecordingStatusREADY, rec.Status)
	return rec
}

func TestRecordingOfAStream(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	idle := owner.Stream(t, nil)
	owner.Call(t, "POST", "/v1/me/streams/"+idle.ID+"/recordings/start", nil).Problem(t, 409, "conflict")
	st := publish(t, s, owner)
	start := "/v1/me/streams/" + st.ID + "/recordings/start"
	owner.Call(t, "POST", start, map[string]any{"name": " "}).Problem(t, 400, "invalid_input")
	owner.Call(t, "POST", start, map[string]any{"name": strings.Repeat("x", 201)}).Problem(t, 400, "invalid_input")
	var live api.PlaybackURL
	owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/playback-url", nil).Into(t, 201, &live)
	require.True(t, live.DvrURL.IsNull())

	var rec api.Recording
	owner.Call(t, "POST", start, map[string]any{"metadata": map[string]string{"a": "1"}}).Into(t, 201, &rec)
	require.Equal(t, api.RecordingStatusRECORDING, rec.Status)
	require.True(t, rec.Name.IsNull())
	owner.Call(t, "POST", start, nil).Problem(t, 409, "conflict")
	owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/playback-url", nil).Into(t, 201, &live)
	dvr, err := live.DvrURL.Get()
	require.NoError(t, err)
	require.Regexp(t, `^https://api\.example\.test/vod/[\w-]+/`+rec.ID+`/index\.m3u8$`, dvr)
	at := "/v1/me/recordings/" + rec.ID
	owner.Call(t, "GET", at+"/playback-url", nil).Problem(t, 409, "conflict")
	owner.Call(t, "DELETE", at, nil).Problem(t, 409, "conflict")
	owner.Call(t, "POST", "/v1/me/streams/"+idle.ID+"/recordings/"+rec.ID+"/stop", nil).Problem(t, 404, "not_found")
	for range 2 {
		owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/recordings/"+rec.ID+"/stop", nil).Into(t, 201, &rec)
		require.Equal(t, api.RecordingStatusPROCESSING, rec.Status)
	}
	owner.Call(t, "DELETE", at, nil).Problem(t, 409, "conflict")
	require.NoError(t, s.Recordings.FinishRecording(t.Context(), rec.ID))
	owner.Call(t, "GET", at, nil).Into(t, 200, &rec)
	require.Equal(t, api.RecordingStatusFAILED, rec.Status)
	require.True(t, rec.URL.IsNull())
	require.Contains(t, rec.Error.MustGet(), "nothing was recorded")
}

func TestRecordingIsPlayedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	rec := record(t, s, owner, false)
	require.InDelta(t, 4, rec.DurationSec.MustGet(), 0)
	require.EqualValues(t, 1100, rec.SizeBytes.MustGet())
	require.Equal(t, "Part 1", rec.Name.MustGet())
	require.Empty(t, rec.ProductTimeline)
	require.NotNil(t, rec.ProductTimeline)
	at := "/v1/me/recordings/" + rec.ID
	var p api.RecordingPlaybackURL
	owner.Call(t, "GET", at+"/playback-url", nil).Into(t, 200, &p)
	require.Equal(t, rec.URL.MustGet(), p.URL)
	require.True(t, p.PosterURL.IsNull() && p.StoryboardURL.IsNull() && p.Mp4URL.IsNull())

	updated := rec.UpdatedAt
	s.Clock.Advance(time.Second)
	owner.Call(t, "PATCH", at, map[string]any{}).Into(t, 200, &rec)
	require.Equal(t, updated, rec.UpdatedAt)
	owner.Call(t, "PATCH", at, map[string]any{"name": "Best of", "metadata": map[string]string{"k": "v"}}).Into(t, 200, &rec)
	require.Equal(t, "Best of", rec.Name.MustGet())
	require.NotEqual(t, updated, rec.UpdatedAt)
	owner.Call(t, "PATCH", at, map[string]any{"name": nil}).Into(t, 200, &rec)
	require.True(t, rec.Name.IsNull())
	require.Equal(t, api.Metadata{"k": "v"}, rec.Metadata)

	for range 2 {
		owner.Call(t, "DELETE", at, nil).Into(t, 200, &rec)
		require.Equal(t, api.RecordingStatusDELETED, rec.Status)
	}
	owner.Call(t, "GET", at, nil).Into(t, 200, &rec)
	owner.Call(t, "PATCH", at, map[string]any{"name": "x"}).Problem(t, 409, "conflict")
	owner.Call(t, "GET", at+"/playback-url", nil).Problem(t, 409, "conflict")
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", "/v1/me/recordings", nil).Is(t, 200).Body))
}

func TestListsOfRecordings(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.SetPlan(t, "ENTERPRISE") // FREE allows two streams on air
	var made []string
	for range 3 {
		made = append([]string{record(t, s, owner, false).ID}, made...)
	}
	var list []api.Recording
	first := owner.Call(t, "GET", "/v1/me/recordings?limit=2", nil)
	first.Into(t, 200, &list)
	require.Len(t, list, 2)
	require.Contains(t, first.Header.Get("Link"), "cursor="+made[1])
	owner.Call(t, "GET", "/v1/me/recordings?limit=2&cursor="+made[1], nil).Into(t, 200, &list)
	require.Equal(t, made[2], list[0].ID)
	owner.Call(t, "GET", "/v1/me/streams/"+list[0].StreamID.MustGet()+"/recordings", nil).Into(t, 200, &list)
	require.Len(t, list, 1)
	owner.Call(t, "GET", "/v1/me/recordings?cursor=str_x", nil).Problem(t, 400, "invalid_input")
}

// finalize sends a report of an outside recorder.
func finalize(t *testing.T, s *apitest.Server, recordingID, body, signature string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/recorder/recordings/"+recordingID+"/finalize", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if signature != "" {
		r.Header.Set("X-Recorder-Signature", signature)
	}
	answer := httptest.NewRecorder()
	s.Handler.ServeHTTP(answer, r)
	return answer
}

func TestRecorderReports(t *testing.T) {
	t.Parallel()
	const secret = "the recorder's secret"
	s := apitest.New(t, apitest.Options{RecorderSecret: secret, RecorderURL: "https://recorder.example"})
	owner := s.Register(t)
	st := owner.Stream(t, map[string]any{"recordingEnabled": true})
	publishFrom(t, s, st, stream.SourceSRS)
	var list []api.Recording
	owner.Call(t, "GET", "/v1/me/streams/"+st.ID+"/recordings", nil).Into(t, 200, &list)
	external, builtin := list[0].ID, record(t, s, owner, true).ID

	const good = `{"status":"ready","playlistUrl":"https://recorder.example/a.m3u8","durationSec":1824.52,"sizeBytes":584210432}`
	require.Equal(t, 401, finalize(t, s, external, good, "").Code)
	require.Equal(t, 401, finalize(t, s, external, good, signed(t, "x", good)).Code)
	require.Equal(t, 401, finalize(t, s, external, good+" ", signed(t, secret, good)).Code)
	report := func(recordingID, body string) *httptest.ResponseRecorder {
		return finalize(t, s, recordingID, body, signed(t, secret, body))
	}
	require.Equal(t, 400, report(external, `{"status":"ready"}`).Code)
	require.Equal(t, 400, report(external, `{"status":"failed"}`).Code)
	require.Equal(t, 404, report("rec_00000000000000000000000000", good).Code)
	require.Equal(t, 409, report(builtin, good).Code)
	answer := report(external, good)
	require.Equal(t, 201, answer.Code)
	require.JSONEq(t, `{"changed":true}`, answer.Body.String())
	require.JSONEq(t, `{"changed":false}`, report(external, `{"status":"failed","error":"late"}`).Body.String())
	var rec api.Recording
	owner.Call(t, "GET", "/v1/me/recordings/"+external, nil).Into(t, 200, &rec)
	require.Equal(t, api.RecordingStatusREADY, rec.Status)
	require.InDelta(t, 1824.52, rec.DurationSec.MustGet(), 0)
	require.EqualValues(t, 584210432, rec.SizeBytes.MustGet())

	without := apitest.New(t, apitest.Options{})
	require.Equal(t, 401, finalize(t, without, external, good, signed(t, "", good)).Code)
}

func TestAdminsManageRecordings(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root, support := s.Admin(t, platform.SuperAdmin), s.Admin(t, platform.Support)
	owner, other := s.Register(t), s.Register(t)
	mine, theirs := record(t, s, owner, false), record(t, s, other, true)
	for query, want := range map[string][]string{
		"": {theirs.ID, mine.ID}, "?tenantId=" + owner.TenantID: {mine.ID}, "?status=RECORDING": {theirs.ID}, "?status=DELETED": {},
		"?page=2&pageSize=1": {mine.ID}, "?page=9": {},
	} {
		var page api.AdminRecordingPage
		support.Call(t, "GET", "/v1/admin/recordings"+query, nil).Into(t, 200, &page)
		ids := []string{}
		for _, item := range page.Items {
			ids = append(ids, item.ID)
		}
		require.Equal(t, want, ids, query)
	}
	support.Call(t, "GET", "/v1/admin/recordings?status=ready", nil).Problem(t, 400, "invalid_input")

	at := "/v1/admin/recordings/" + mine.ID
	for _, body := range []map[string]any{{}, {"reason": "x"}, {"retainUntil": "2020-01-01T00:00:00Z"}} {
		root.Call(t, "PATCH", at+"/retention", body).Problem(t, 400, "invalid_input")
	}
	var rec api.AdminRecording
	root.Call(t, "PATCH", at+"/retention", map[string]any{"legalHold": true, "retainUntil": nil, "reason": "a dispute"}).Into(t, 200, &rec)
	require.True(t, rec.LegalHold)
	require.True(t, rec.RetainUntil.IsNull())
	require.Equal(t, "Launch", rec.StreamName.MustGet())
	root.Call(t, "DELETE", at, map[string]any{"reason": "x"}).Problem(t, 409, "conflict")
	owner.Call(t, "DELETE", "/v1/me/recordings/"+mine.ID, nil).Problem(t, 409, "conflict")
	root.Call(t, "PATCH", at+"/retention", map[string]any{"legalHold": false}).Is(t, 200)
	root.Call(t, "DELETE", "/v1/admin/recordings/"+theirs.ID, map[string]any{"reason": "x"}).Problem(t, 409, "conflict")
	root.Call(t, "DELETE", at, map[string]any{}).Problem(t, 400, "invalid_input")
	for _, reason := range []string{"Court order 17/2026", "again"} {
		root.Call(t, "DELETE", at, map[string]any{"reason": reason}).Into(t, 200, &rec)
		require.Equal(t, api.RecordingStatusDELETED, rec.Status)
		require.Equal(t, "Court order 17/2026", rec.DeletedReason.MustGet())
	}
	root.Call(t, "PATCH", at+"/retention", map[string]any{"legalHold": true}).Problem(t, 409, "conflict")
	root.Call(t, "DELETE", "/v1/admin/recordings/rec_x", map[string]any{"reason": "x"}).Problem(t, 404, "not_found")
	var entries api.AuditPage
	root.Call(t, "GET", "/v1/admin/audit?action=recording.delete", nil).Into(t, 200, &entries)
	require.Equal(t, 1, entries.Total)
}
