package handlers_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

const cue = "WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n"

func TestTextTracksOfARecording(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	rec := record(t, s, owner, false)
	at := "/v1/me/recordings/" + rec.ID + "/text-tracks"
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", at, nil).Is(t, 200).Body))
	var track api.RecordingTextTrack
	owner.Call(t, "PUT", at+"/PT-br", map[string]any{"name": " Português ", "content": cue}).Into(t, 200, &track)
	require.Equal(t, "pt-BR", track.Language)
	require.Equal(t, "Português", track.Name)
	require.Equal(t, api.TextTrackKindSUBTITLES, track.Kind)
	require.Equal(t, 1, track.CueCount)
	created := track.CreatedAt
	s.Clock.Advance(time.Second)
	owner.Call(t, "PUT", at+"/pt-BR", map[string]any{"name": "Português", "content": cue}).Into(t, 200, &track)
	require.Equal(t, created, track.UpdatedAt, "nothing has changed")
	owner.Call(t, "PUT", at+"/pt-BR", map[string]any{"name": "Português", "kind": "CAPTIONS", "content": cue}).Into(t, 200, &track)
	require.NotEqual(t, created, track.UpdatedAt)
	require.Equal(t, created, track.CreatedAt)
	owner.Call(t, "PUT", at+"/en", map[string]any{"name": "English", "content": "WEBVTT"}).Is(t, 200)
	var list []api.RecordingTextTrack
	owner.Call(t, "GET", at, nil).Into(t, 200, &list)
	require.Len(t, list, 2)
	require.Equal(t, "en", list[0].Language)
	owner.Call(t, "DELETE", at+"/EN", nil).Into(t, 200, &track)
	require.Equal(t, "English", track.Name)
	owner.Call(t, "DELETE", at+"/en", nil).Problem(t, 404, "not_found")

	owner.Call(t, "DELETE", "/v1/me/recordings/"+rec.ID, nil).Is(t, 200)
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", at, nil).Is(t, 200).Body))
	owner.Call(t, "PUT", at+"/en", map[string]any{"name": "English", "content": cue}).Problem(t, 409, "conflict")
	owner.Call(t, "DELETE", at+"/pt-BR", nil).Problem(t, 404, "not_found")
}

func TestTextTracksAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	at := "/v1/me/recordings/" + record(t, s, owner, false).ID + "/text-tracks/"
	good := map[string]any{"name": "English", "content": cue}
	for _, language := range []string{"x", "en_US", "english!", "und", "123", strings.Repeat("a", 36), "de-x-" + strings.Repeat("a", 30) + "b"} {
		owner.Call(t, "PUT", at+language, good).Problem(t, 400, "invalid_input")
	}
	for _, body := range []map[string]any{
		{"content": cue}, {"name": "English"}, {"name": " ", "content": cue}, {"name": strings.Repeat("x", 101), "content": cue},
		{"name": "English", "content": cue, "kind": "chapters"}, {"name": "English", "content": "1\n00:01,000 --> 00:02,000\nHello"},
		{"name": "English", "content": "WEBVTT\n\nNOTE " + strings.Repeat("é", 1<<19)},
	} {
		owner.Call(t, "PUT", at+"en", body).Problem(t, 400, "invalid_input")
	}
	owner.Call(t, "PUT", at+"en", map[string]any{"name": "English", "content": "WEBVTT\n\nNOTE " + strings.Repeat("x", 1<<20-13)}).Is(t, 200)
	owner.Call(t, "PUT", at+"de", good).Problem(t, 409, "conflict")
	for i := range 49 {
		owner.Call(t, "PUT", fmt.Sprintf("%sen-x-%d", at, i), map[string]any{"name": strconv.Itoa(i), "content": cue}).Is(t, 200)
	}
	owner.Call(t, "PUT", at+"de", map[string]any{"name": "Deutsch", "content": cue}).Problem(t, 409, "conflict")
	owner.Call(t, "PUT", at+"en", good).Is(t, 200)
	running := "/v1/me/recordings/" + record(t, s, owner, true).ID + "/text-tracks"
	owner.Call(t, "PUT", running+"/en", good).Problem(t, 409, "conflict")
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", running, nil).Is(t, 200).Body))
}
