package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

func TestCreateStreamFillsInTheDefaults(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	resp, err := owner.Client.CreateStreamWithResponse(t.Context(), api.StreamInput{Name: "Launch"})
	require.NoError(t, err)
	st := resp.JSON201
	require.NotNil(t, st, string(resp.Body))
	require.Equal(t, "Launch", st.Name)
	require.Equal(t, api.StreamModeLOWLATENCY, st.Mode)
	require.Equal(t, api.StreamStatusIDLE, st.Status)
	require.Regexp(t, `^live_[0-9A-Za-z]{24}$`, st.StreamKey)
	require.Equal(t, "rtmp://ingest.example.test/live", st.IngestURL)
	require.Zero(t, st.ReconnectWindowSec)
	require.False(t, st.RecordingEnabled)
	require.Zero(t, st.ViewerCount)
	require.Equal(t, api.StreamHealthStateOFFLINE, st.Health.State)
	for name, null := range map[string]bool{
		"projectId": st.ProjectID.IsNull(), "startedAt": st.StartedAt.IsNull(), "endedAt": st.EndedAt.IsNull(),
		"reason": st.Health.Reason.IsNull(), "videoCodec": st.Health.VideoCodec.IsNull(), "audioCodec": st.Health.AudioCodec.IsNull(),
	} {
		require.True(t, null, name)
	}

	got, err := owner.Client.GetStreamWithResponse(t.Context(), st.ID)
	require.NoError(t, err)
	require.Equal(t, "live_…"+st.StreamKey[len(st.StreamKey)-4:], got.JSON200.StreamKey, "the key is shown once")
	masked := *got.JSON200
	masked.StreamKey = st.StreamKey
	require.Equal(t, *st, masked)
}

func TestCreateStreamStoresItsInput(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	st := owner.Stream(t, map[string]any{
		"mode": "STANDARD", "projectId": "launch-2026", "reconnectWindowSec": 1800, "recordingEnabled": true, "unknown": "ignored",
	})
	require.Equal(t, api.StreamModeSTANDARD, st.Mode)
	project, err := st.ProjectID.Get()
	require.NoError(t, err)
	require.Equal(t, "launch-2026", project)
	require.Equal(t, 1800, st.ReconnectWindowSec)
	require.True(t, st.RecordingEnabled)
}

// TestRenditions: they are stored from the largest to the smallest, with default bitrates, and replaced as a whole.
func TestRenditions(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	require.Equal(t, []api.StreamRendition{}, owner.Stream(t, nil).Renditions)
	type m = map[string]any
	st := owner.Stream(t, m{"renditions": []m{{"height": 240, "videoKbps": 99}, {"height": 480}}})
	require.Equal(t, []api.StreamRendition{{Height: 480, VideoKbps: 600}, {Height: 240, VideoKbps: 99}}, st.Renditions)
	require.True(t, st.Health.Ladder.IsNull(), "nothing is on air")
	path := "/v1/me/streams/" + st.ID
	for _, body := range []m{{"name": "Other"}, {"renditions": []m{{"height": 240, "videoKbps": 99}, {"height": 480}}}} {
		var got api.Stream
		owner.Call(t, "PATCH", path, body).Into(t, 200, &got)
		require.Equal(t, st.Renditions, got.Renditions)
	}
	owner.Call(t, "PATCH", path, m{"renditions": []m{{"height": 480}, {"height": 480, "videoKbps": 99}}}).
		Problem(t, http.StatusBadRequest, "invalid_input")
	var got api.Stream
	owner.Call(t, "PATCH", path, m{"renditions": []m{}}).Into(t, 200, &got)
	require.Empty(t, got.Renditions)
}

func TestCreateStreamInput(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for body, field := range map[string]string{
		`{}`:           "name",
		`{"NAME":"x"}`: "name",
		`{"name":""}`:  "name",
		`{"name":5}`:   "name",
		`{"name":"` + strings.Repeat("n", 201) + `"}`:              "name",
		`{"name":"a\u0000b"}`:                                      "name",
		`{"name":"x","mode":"low_latency"}`:                        "mode",
		`{"name":"x","projectId":""}`:                              "projectId",
		`{"name":"x","reconnectWindowSec":1801}`:                   "reconnectWindowSec",
		`{"name":"x","reconnectWindowSec":-1}`:                     "reconnectWindowSec",
		`{"name":"x","reconnectWindowSec":1.5}`:                    "reconnectWindowSec",
		`{"name":"x","reconnectWindowSec":1e400}`:                  "body",
		`{"name":"x","reconnectWindowSec":"60"}`:                   "reconnectWindowSec",
		`{"name":"x","recordingEnabled":1}`:                        "recordingEnabled",
		`{"name":"x","renditions":[{}]}`:                           "renditions.0.height",
		`{"name":"x","renditions":[{"height":481}]}`:               "renditions.0.height",
		`{"name":"x","renditions":[{"height":1440}]}`:              "renditions.0.height",
		`{"name":"x","renditions":[{"height":480,"videoKbps":0}]}`: "renditions.0.videoKbps",
		`{"name":"x","renditions":[{"height":144},{"height":240},{"height":360},{"height":480},{"height":720}]}`: "renditions",
	} {
		p := owner.Call(t, "POST", "/v1/me/streams", body).Problem(t, 400, "invalid_input")
		require.Equal(t, []string{field}, fieldsOf(p), body)
	}
	p := owner.Call(t, "POST", "/v1/me/streams", `{"name":"x","mode":"FAST"}`).Problem(t, 400, "invalid_input")
	require.Contains(t, p.Errors[0].Message, `"LOW_LATENCY","STANDARD"`, "an unknown value lists the known ones")
	p = owner.Call(t, "POST", "/v1/me/streams", `{"name":7,"mode":"FAST","reconnectWindowSec":-1,"recordingEnabled":"yes"}`).
		Problem(t, 400, "invalid_input")
	require.ElementsMatch(t, []string{"name", "mode", "reconnectWindowSec", "recordingEnabled"}, fieldsOf(p), "all faults at once")
}

func TestRotateStreamKeyShowsTheNewKeyOnce(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	st := owner.Stream(t, nil)
	var rotated api.Stream
	owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/rotate-key", nil).Into(t, 201, &rotated)
	require.Regexp(t, `^live_[0-9A-Za-z]{24}$`, rotated.StreamKey)
	require.NotEqual(t, st.StreamKey, rotated.StreamKey)
	var got api.Stream
	owner.Call(t, "GET", "/v1/me/streams/"+st.ID, nil).Into(t, 200, &got)
	require.Equal(t, "live_…"+rotated.StreamKey[len(rotated.StreamKey)-4:], got.StreamKey)
}

func TestPlaybackURL(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	fast, slow := owner.Stream(t, nil), owner.Stream(t, map[string]any{"mode": "STANDARD"})
	path := func(st api.Stream) string { return "/v1/me/streams/" + st.ID + "/playback-url" }

	var u api.PlaybackURL
	owner.Call(t, "POST", path(fast), nil).Into(t, 201, &u)
	require.Equal(t, api.PlaybackTypeLLHLS, u.Type)
	require.WithinDuration(t, s.Clock.Now().Add(time.Hour), u.ExpiresAt.Time, time.Second)
	token, ok := strings.CutPrefix(u.URL, "https://api.example.test/live/")
	require.True(t, ok, u.URL)
	token, ok = strings.CutSuffix(token, "/index.m3u8")
	require.True(t, ok, u.URL)
	streamID, expires, err := s.Playback.CheckPlayback(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, fast.ID, streamID)
	require.WithinDuration(t, u.ExpiresAt.Time, expires, 0)

	owner.Call(t, "POST", path(slow), map[string]any{"expiresInSec": 30}).Into(t, 201, &u)
	require.Equal(t, api.PlaybackTypeHLS, u.Type)
	require.WithinDuration(t, s.Clock.Now().Add(30*time.Second), u.ExpiresAt.Time, time.Second)

	for _, body := range []string{`{"expiresInSec":29}`, `{"expiresInSec":86401}`, `{"expiresInSec":"60"}`} {
		p := owner.Call(t, "POST", path(fast), body).Problem(t, 400, "invalid_input")
		require.Equal(t, []string{"expiresInSec"}, fieldsOf(p), body)
	}
	owner.Colleague(t, tenancy.Viewer).Call(t, "POST", path(fast), nil).Is(t, 201)
}

// TestLongIDsDontExist checks that an id beyond the document's maximum gets the answer of an unknown one.
func TestLongIDsDontExist(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for _, length := range []int{1024, 1025, 5000} {
		got, err := owner.Client.GetStreamWithResponse(t.Context(), strings.Repeat("x", length))
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, got.StatusCode(), length)
	}
	code, err := owner.Client.CheckDiscountWithResponse(t.Context(), strings.Repeat("x", 70_000), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code.StatusCode())
	require.False(t, code.JSON200.Valid)
}

func TestAStreamsShow(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	mug, cup := owner.Product(t, nil), owner.Product(t, nil)
	st := owner.Stream(t, nil)
	require.True(t, st.ScheduledAt.IsNull() && st.PosterURL.IsNull() && st.ProductIds.IsNull() && st.PublicReplay.IsNull())

	st = owner.Stream(t, map[string]any{
		"scheduledAt": "2026-12-01T19:00:00.1234Z", "posterUrl": "https://cdn.example/p.jpg", "productIds": []string{cup.ID, mug.ID, cup.ID}, "publicReplay": false,
	})
	scheduled, err := st.ScheduledAt.Get()
	require.NoError(t, err)
	require.Equal(t, "2026-12-01T19:00:00.123Z", timestamp.Format(scheduled.Time))
	shelf, err := st.ProductIds.Get()
	require.NoError(t, err)
	require.Equal(t, []string{cup.ID, mug.ID}, shelf)

	path := "/v1/me/streams/" + st.ID
	var got api.Stream
	owner.Call(t, "PATCH", path, map[string]any{"name": "Other"}).Into(t, 200, &got)
	require.False(t, got.PosterURL.IsNull() || got.PublicReplay.IsNull(), "absent fields don't change")
	owner.Call(t, "PATCH", path, map[string]any{"productIds": []string{}, "publicReplay": true, "posterUrl": nil}).Into(t, 200, &got)
	shelf, err = got.ProductIds.Get()
	require.NoError(t, err)
	require.Empty(t, shelf, "an empty shelf is not the default one")
	require.True(t, got.PosterURL.IsNull())
	public, err := got.PublicReplay.Get()
	require.NoError(t, err)
	require.True(t, public)
	owner.Call(t, "PATCH", path, map[string]any{"productIds": nil, "scheduledAt": nil}).Into(t, 200, &got)
	require.True(t, got.ProductIds.IsNull() && got.ScheduledAt.IsNull())

	foreign := s.Register(t).Product(t, nil)
	for _, productID := range []string{foreign.ID, "prod_none"} {
		owner.Call(t, "PATCH", path, map[string]any{"productIds": []string{mug.ID, productID}}).Problem(t, 404, "not_found")
		owner.Call(t, "POST", "/v1/me/streams", map[string]any{"name": "x", "productIds": []string{productID}}).Problem(t, 404, "not_found")
	}
	owner.Call(t, "PATCH", path, map[string]any{"posterUrl": "javascript:alert(1)"}).Problem(t, 400, "invalid_input")
}
