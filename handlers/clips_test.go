package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

func TestClipsOfARecording(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	rec := record(t, s, owner, false)
	require.True(t, rec.ClipOf.IsNull())
	at := "/v1/me/recordings/" + rec.ID + "/clips"
	for _, body := range []map[string]any{
		{"fromSec": 1}, {"toSec": 3}, {"fromSec": -1, "toSec": 3}, {"fromSec": 3, "toSec": 1}, {"fromSec": 1, "toSec": 1.999},
		{"fromSec": 1, "toSec": 4.001}, {"fromSec": 1, "toSec": 1e9}, {"fromSec": 1, "toSec": 3, "name": " "},
	} {
		owner.Call(t, "POST", at, body).Problem(t, 400, "invalid_input")
	}
	var clip api.Recording
	body := map[string]any{"fromSec": 1.5, "toSec": 4, "name": "Best of", "metadata": map[string]string{"a": "1"}}
	owner.Call(t, "POST", at, body).Into(t, 201, &clip)
	require.Equal(t, api.RecordingStatusPROCESSING, clip.Status)
	require.Equal(t, api.RecordingClipSource{RecordingID: rec.ID, FromSec: 1.5, ToSec: 4}, clip.ClipOf.MustGet())
	require.Equal(t, rec.StreamID, clip.StreamID)
	require.Equal(t, "Best of", clip.Name.MustGet())
	require.Equal(t, api.Metadata{"a": "1"}, clip.Metadata)
	owner.Call(t, "DELETE", "/v1/me/recordings/"+clip.ID, nil).Problem(t, 409, "conflict")
	owner.Call(t, "POST", "/v1/me/recordings/"+clip.ID+"/clips", body).Problem(t, 409, "conflict")
	for range 9 {
		owner.Call(t, "POST", at, body).Is(t, 201)
	}
	limited := owner.Call(t, "POST", at, body)
	limited.Problem(t, 429, "rate_limited")
	require.NotEmpty(t, limited.Header.Get("Retry-After"))

	other := s.Register(t)
	other.Call(t, "POST", at, body).Problem(t, 404, "not_found")
	running := record(t, s, other, true)
	other.Call(t, "POST", "/v1/me/recordings/"+running.ID+"/clips", body).Problem(t, 409, "conflict")
}
