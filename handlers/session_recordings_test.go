package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

// TestSessionRecordings: the host or the tenant starts and stops recordings. The end of the session ends them, and each is final once.
func TestSessionRecordings(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	se := owner.Session(t, map[string]any{"projectId": "launch", "inviteUserIds": []string{"ben"}})
	at := sessionsPath + "/" + se.ID
	start := at + "/recording/start"
	ada, ben := owner.Ticket(t, se.ID, "ada", nil), owner.Ticket(t, se.ID, "ben", nil)
	current := func() *string {
		var got api.Session
		owner.Call(t, "GET", at, nil).Into(t, 200, &got)
		if got.RecordingID.IsNull() {
			return nil
		}
		return new(got.RecordingID.MustGet())
	}

	ben.Call(t, "POST", start, nil).Problem(t, 403, "forbidden")
	ada.Call(t, "POST", start, map[string]any{"metadata": map[string]any{"a": "b"}}).Problem(t, 403, "forbidden")
	s.Register(t).Call(t, "POST", start, nil).Problem(t, 404, "not_found")
	require.Nil(t, current())

	var first api.SessionRecording
	ada.Call(t, "POST", start, map[string]any{"layout": "speaker"}).Into(t, 201, &first)
	require.Equal(t, []any{se.ID, api.SessionRecordingStateRecording, api.SessionRecordingLayoutSpeaker}, []any{first.SessionID, first.State, first.Layout})
	require.True(t, first.PlaybackURL.IsNull() && first.DurationSec.IsNull() && first.StoppedAt.IsNull() && first.Error.IsNull())
	require.Nil(t, first.Metadata)
	require.Equal(t, first.ID, *current())
	owner.Call(t, "POST", start, nil).Problem(t, 409, "conflict")
	owner.Call(t, "DELETE", "/v1/me/recordings/"+first.ID, nil).Problem(t, 409, "conflict")

	other := owner.Session(t, nil)
	stop := "/recording/" + first.ID + "/stop"
	owner.Call(t, "POST", sessionsPath+"/"+other.ID+stop, nil).Problem(t, 404, "not_found")
	s.Register(t).Call(t, "POST", at+stop, nil).Problem(t, 404, "not_found")
	ben.Call(t, "POST", at+stop, nil).Problem(t, 403, "forbidden")
	s.Clock.Advance(3 * time.Second)
	for range 2 {
		var got api.SessionRecording
		ada.Call(t, "POST", at+stop, nil).Into(t, 201, &got)
		require.Equal(t, api.SessionRecordingStateProcessing, got.State)
		require.Equal(t, s.Clock.Now(), got.StoppedAt.MustGet().Time)
	}
	require.Nil(t, current())

	var second api.SessionRecording
	owner.Call(t, "POST", start, map[string]any{"metadata": map[string]any{"a": "b"}}).Into(t, 201, &second)
	require.Equal(t, api.SessionRecordingLayoutComposite, second.Layout)
	require.NotNil(t, second.Metadata)
	owner.Call(t, "POST", at+"/end", nil).Is(t, 201)
	owner.Call(t, "POST", start, nil).Problem(t, 409, "conflict")

	for range 2 { // a job may run twice
		for _, r := range []api.SessionRecording{first, second} {
			require.NoError(t, s.Recordings.FinishRecording(t.Context(), r.ID))
		}
	}
	var list []api.SessionRecording
	owner.Call(t, "GET", at+"/recordings", nil).Into(t, 200, &list)
	require.Len(t, list, 2)
	require.Equal(t, []string{second.ID, first.ID}, []string{list[0].ID, list[1].ID})
	for _, r := range list {
		require.Equal(t, api.SessionRecordingStateFailed, r.State)
		require.Contains(t, r.Error.MustGet(), "no participant was in the session's room")
		names, _ := eventsOf(t, s, owner.TenantID, r.ID)
		require.Equal(t, []string{"session.recording.started", "session.recording.stopped"}, names)
	}
	s.Register(t).Call(t, "GET", at+"/recordings", nil).Problem(t, 404, "not_found")
	var page []api.SessionRecording
	owner.Call(t, "GET", at+"/recordings?limit=1", nil).Into(t, 200, &page)
	require.Len(t, page, 1)

	// They are recordings as others are, but for clips and replays.
	var all []api.Recording
	owner.Call(t, "GET", "/v1/me/recordings", nil).Into(t, 200, &all)
	require.Len(t, all, 2)
	require.True(t, all[0].StreamID.IsNull())
	require.Equal(t, se.ID, all[0].SessionID.MustGet())
	owner.Call(t, "POST", "/v1/me/recordings/"+first.ID+"/clips", map[string]any{"fromSec": 0, "toSec": 1}).Problem(t, 409, "conflict")
	s.With(t, "").Call(t, "GET", "/v1/replays/"+first.ID, nil).Problem(t, 404, "not_found")
	owner.Call(t, "DELETE", "/v1/me/recordings/"+first.ID, nil).Is(t, 200)
	owner.Call(t, "GET", at+"/recordings", nil).Into(t, 200, &list)
	require.Len(t, list, 1)
}
