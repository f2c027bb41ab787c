package handlers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/streams/recording"
	"showfloor/internal/testkit/apitest"
)

// recordLines is a READY recording with a picture of so many lines.
func recordLines(t *testing.T, s *apitest.Server, owner *apitest.Caller, lines int) (rec api.Recording) {
	t.Helper()
	rec = record(t, s, owner, true)
	take, err := s.Recordings.OpenTake(t.Context(), rec.ID, "another key")
	require.NoError(t, err)
	require.NoError(t, s.Recordings.SaveSegments(t.Context(), rec.ID, take, []recording.Init{
		{Number: 1, Codecs: "avc1.64001f,mp4a.40.2", Width: lines * 16 / 9, Height: lines, FrameRate: 30, VideoBytes: 700, AudioBytes: 600},
	}, []recording.Segment{
		{Number: 1, Init: 1, StartedAt: s.Clock.Now(), Duration: 4 * time.Second, VideoBytes: 1000, AudioBytes: 100},
	}))
	require.NoError(t, s.Recordings.CloseTake(t.Context(), rec.ID, 1, ""))
	require.NoError(t, s.Recordings.CloseTake(t.Context(), rec.ID, take, ""))
	owner.Call(t, "POST", "/v1/me/streams/"+rec.StreamID.MustGet()+"/recordings/"+rec.ID+"/stop", nil).Is(t, 201)
	require.NoError(t, s.Recordings.FinishRecording(t.Context(), rec.ID))
	return rec
}

func TestTranscodesOfARecording(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.SetPlan(t, "ENTERPRISE") // FREE allows two streams on air
	rec := recordLines(t, s, owner, 720)
	at := "/v1/me/recordings/" + rec.ID + "/transcode"
	for _, body := range []map[string]any{
		{"container": "AVI"}, {"renditions": []any{}}, {"renditions": []any{map[string]any{}}},
		{"renditions": []any{map[string]any{"height": 721}}}, {"renditions": []any{map[string]any{"height": 100}}},
		{"renditions": []any{map[string]any{"height": 360, "name": "../x"}}}, {"renditions": []any{map[string]any{"height": 360, "fps": 0}}},
		{"renditions": []any{map[string]any{"height": 360}, map[string]any{"height": 360}}},
		{"renditions": []any{map[string]any{"height": 360, "name": "a"}, map[string]any{"height": 480, "name": "a"}}},
	} {
		owner.Call(t, "POST", at, body).Problem(t, 400, "invalid_input")
	}
	var made api.Transcode
	owner.Call(t, "POST", at, nil).Into(t, 201, &made)
	require.Equal(t, []any{rec.ID, api.MediaJobStatusQUEUED, api.TranscodeContainerMP4, 0}, []any{made.RecordingID, made.Status, made.Container, made.Progress})
	require.Empty(t, made.Outputs)
	var names []string
	for _, r := range made.Renditions {
		names = append(names, r.Name)
		require.Equal(t, []any{128, api.RenditionVideoCodecH264, true}, []any{r.AudioKbps, r.VideoCodec, r.Fps.IsNull()})
		require.Positive(t, r.VideoKbps)
	}
	first := made
	require.Equal(t, "720p 480p 360p", strings.Join(names, " "), "none is larger than the source")

	var small api.Transcode
	owner.Call(t, "POST", "/v1/me/recordings/"+recordLines(t, s, owner, 180).ID+"/transcode", map[string]any{}).Into(t, 201, &small)
	require.Len(t, small.Renditions, 1)

	body := map[string]any{"container": "MPEG_TS", "renditions": []any{
		map[string]any{"name": "hi", "height": 1080, "videoCodec": "HEVC", "fps": 29.97, "audioKbps": 0},
		map[string]any{"height": 360, "videoKbps": 500},
	}}
	owner.Call(t, "POST", at, body).Into(t, 201, &made)
	require.Equal(t, api.TranscodeContainerMPEGTS, made.Container)
	hi, low := made.Renditions[0], made.Renditions[1]
	require.Equal(t, []any{"hi", 1080, api.RenditionVideoCodecHEVC, 0, float32(29.97)}, []any{hi.Name, hi.Height, hi.VideoCodec, hi.AudioKbps, hi.Fps.MustGet()})
	require.Equal(t, []any{"360p", 360, 500, 128}, []any{low.Name, low.Height, low.VideoKbps, low.AudioKbps})
	var again api.Transcode
	owner.Call(t, "GET", "/v1/me/transcodes/"+made.ID, nil).Into(t, 200, &again)
	require.Equal(t, made, again)
	_, err := s.Pool.Exec(t.Context(), `UPDATE media_jobs SET status = 'COMPLETED', outputs = '[{"name": "hi", "videoCodec": "HEVC"}]' WHERE id = $1`, made.ID)
	require.NoError(t, err)
	var listed []api.Transcode
	owner.Call(t, "GET", at+"s", nil).Into(t, 200, &listed)
	require.Len(t, listed, 2)
	require.Equal(t, []string{made.ID, first.ID}, []string{listed[0].ID, listed[1].ID}, "newest first, of this recording only")
	require.True(t, strings.HasSuffix(listed[0].Outputs[0].URL, "/"+made.ID+"/hi.ts"), listed[0].Outputs[0].URL)
	require.Empty(t, listed[1].Outputs)
	owner.Call(t, "GET", "/v1/me/recordings/"+rec.ID+"/packages", nil).Into(t, 200, &[]api.Package{})
	var audited int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM audit_entries WHERE action = 'transcode.create' AND entity_id = $1",
		made.ID).Scan(&audited))
	require.Equal(t, 1, audited)

	other := s.Register(t)
	other.Call(t, "POST", at, nil).Problem(t, 404, "not_found")
	other.Call(t, "GET", "/v1/me/transcodes/"+made.ID, nil).Problem(t, 404, "not_found")
	other.Call(t, "POST", "/v1/me/transcodes/"+made.ID+"/cancel", nil).Problem(t, 404, "not_found")
	running := record(t, s, owner, true)
	owner.Call(t, "POST", "/v1/me/recordings/"+running.ID+"/transcode", nil).Problem(t, 409, "conflict")
	_, err = s.Pool.Exec(t.Context(), "UPDATE recordings SET playlist_url = 'https://recorder.example/index.m3u8' WHERE id = $1", rec.ID)
	require.NoError(t, err)
	owner.Call(t, "POST", at, nil).Problem(t, 409, "conflict")
}

func TestCancelTranscode(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	rec := recordLines(t, s, owner, 720)
	var made api.Transcode
	owner.Call(t, "POST", "/v1/me/recordings/"+rec.ID+"/transcode", nil).Into(t, 201, &made)
	cancel := "/v1/me/transcodes/" + made.ID + "/cancel"
	var canceled, again api.Transcode
	owner.Call(t, "POST", cancel, nil).Into(t, 201, &canceled)
	require.Equal(t, api.MediaJobStatusCANCELED, canceled.Status)
	require.False(t, canceled.FinishedAt.IsNull())
	require.True(t, canceled.StartedAt.IsNull())
	owner.Call(t, "POST", cancel, nil).Into(t, 201, &again)
	require.Equal(t, canceled, again)
	for _, status := range []string{"COMPLETED", "FAILED"} {
		_, err := s.Pool.Exec(t.Context(), "UPDATE media_jobs SET status = $2 WHERE id = $1", made.ID, status)
		require.NoError(t, err)
		owner.Call(t, "POST", cancel, nil).Problem(t, 409, "conflict")
	}
}

// TestManyTranscodesOfATenant: a tenant has at most 100 unfinished jobs, which don't count for another one.
func TestManyTranscodesOfATenant(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	at := "/v1/me/recordings/" + recordLines(t, s, owner, 720).ID + "/transcode"
	var first api.Transcode
	owner.Call(t, "POST", at, nil).Into(t, 201, &first)
	for range 99 {
		owner.Call(t, "POST", at, nil).Is(t, 201)
	}
	limited := owner.Call(t, "POST", at, nil)
	limited.Problem(t, 429, "rate_limited")
	require.NotEmpty(t, limited.Header.Get("Retry-After"))
	other.Call(t, "POST", "/v1/me/recordings/"+recordLines(t, s, other, 720).ID+"/transcode", nil).Is(t, 201)
	owner.Call(t, "POST", "/v1/me/transcodes/"+first.ID+"/cancel", nil).Is(t, 201)
	owner.Call(t, "POST", at, nil).Is(t, 201)
}
