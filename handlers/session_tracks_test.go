package handlers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/recording"
	"showfloor/internal/testkit/apitest"
)

// composePart does what a node does with a part of a session's recording. The take has segments of 4 s.
func composePart(t *testing.T, s *apitest.Server, recordingID string, segments int, c recording.ComposedPart) {
	t.Helper()
	n, err := s.Recordings.OpenPart(t.Context(), recordingID)
	require.NoError(t, err)
	part := recording.PartID{RecordingID: recordingID, Part: n}
	take, err := s.Recordings.OpenTakeOfPart(t.Context(), part, "key")
	require.NoError(t, err)
	list := make([]recording.Segment, segments)
	for i := range list {
		list[i] = recording.Segment{
			Number: i + 1, Init: 1, StartedAt: s.Clock.Now().Add(time.Duration(i) * 4 * time.Second), Duration: 4 * time.Second,
			VideoBytes: 1000, AudioBytes: 100,
		}
	}
	require.NoError(t, s.Recordings.SaveSegments(t.Context(), recordingID, take, nil, list))
	require.NoError(t, s.Recordings.CloseTake(t.Context(), recordingID, take, ""))
	for range 2 { // a node that is killed before it knows the result repeats it
		require.NoError(t, s.Recordings.FinishComposedPart(t.Context(), part, c))
	}
	require.NoError(t, s.Recordings.FinishPart(t.Context(), part, ""))
	s.Clock.Advance(time.Minute)
}

// TestSeparateTracks: the host asks for them. The answers have one for each participant and part when the recording is ready, until it
// is deleted.
func TestSeparateTracks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	se := owner.Session(t, map[string]any{"inviteUserIds": []string{"ben"}})
	at := sessionsPath + "/" + se.ID
	ada, ben := owner.Ticket(t, se.ID, "ada", nil), owner.Ticket(t, se.ID, "ben", nil)
	options := map[string]any{"separateTracks": true}
	owner.Call(t, "POST", at+"/recording/start", map[string]any{"separateTracks": "yes"}).Problem(t, 400, "invalid_input")
	ben.Call(t, "POST", at+"/recording/start", options).Problem(t, 403, "forbidden")
	s.Register(t).Call(t, "POST", at+"/recording/start", options).Problem(t, 404, "not_found")

	var r api.SessionRecording
	ada.Call(t, "POST", at+"/recording/start", options).Into(t, 201, &r)
	require.True(t, r.SeparateTracks)
	require.True(t, r.Tracks.IsNull())
	composePart(t, s, r.ID, 2, recording.ComposedPart{Length: 8001 * time.Millisecond, Tracks: []recording.Track{
		{Number: 1, UserID: "ben", Name: "Ben Sato", Bytes: 30}, {Number: 2, UserID: "ada", Bytes: 20},
	}})
	composePart(t, s, r.ID, 1, recording.ComposedPart{Length: 4 * time.Second, Tracks: []recording.Track{
		{Number: 1, UserID: "ada", Name: "Ada Okafor", Bytes: 7},
	}, Reason: "some microphones can't be heard (1)"})
	ada.Call(t, "POST", at+"/recording/"+r.ID+"/stop", nil).Into(t, 201, &r)
	require.Equal(t, api.SessionRecordingStateProcessing, r.State)
	require.True(t, r.SeparateTracks)
	require.True(t, r.Tracks.IsNull(), "the recording isn't ready")
	owner.Call(t, "GET", "/v1/me/recordings/"+r.ID+"/playback-url", nil).Problem(t, 409, "conflict")

	require.NoError(t, s.Recordings.FinishRecording(t.Context(), r.ID))
	var list []api.SessionRecording
	owner.Call(t, "GET", at+"/recordings", nil).Into(t, 200, &list)
	require.Len(t, list, 1)
	r = list[0]
	require.Equal(t, api.SessionRecordingStateReady, r.State)
	require.Equal(t, "some microphones can't be heard (1)", r.IncompleteReason.MustGet())
	require.EqualValues(t, 3*1100+57, r.SizeBytes.MustGet(), "with the tracks")
	tracks := r.Tracks.MustGet()
	require.Len(t, tracks, 3)
	var key string // who knows the video's URL doesn't know it
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT tracks_key || '.m4a' FROM recordings WHERE id = $1", r.ID).Scan(&key))
	folder := strings.TrimSuffix(r.PlaybackURL.MustGet(), recordfile.Index)
	for i, want := range []struct {
		user, name, file string
		start, length    float64
		bytes            int64
	}{
		{"ada", "", "1-track2-" + key, 0, 8.001, 20}, {"ada", "Ada Okafor", "2-track1-" + key, 8, 4, 7},
		{"ben", "Ben Sato", "1-track1-" + key, 0, 8.001, 30},
	} {
		got := tracks[i]
		require.Equal(t, []any{want.user, folder + want.file, want.bytes}, []any{got.UserID, got.URL, got.SizeBytes})
		require.Equal(t, []any{want.start, want.length}, []any{got.StartSec, got.DurationSec})
		require.Equal(t, want.name == "", got.Name.IsNull())
		if want.name != "" {
			require.Equal(t, want.name, got.Name.MustGet())
		}
		require.Equal(t, s.Clock.Now().Add(time.Hour).Truncate(time.Second), got.URLExpiresAt.Time)
	}

	var p api.RecordingPlaybackURL
	owner.Call(t, "GET", "/v1/me/recordings/"+r.ID+"/playback-url", nil).Into(t, 200, &p)
	require.Equal(t, tracks, p.Tracks.MustGet())
	var again api.SessionRecording
	ada.Call(t, "POST", at+"/recording/"+r.ID+"/stop", nil).Into(t, 201, &again)
	require.Equal(t, tracks, again.Tracks.MustGet(), "the host sees them as the playback URL")
	ben.Call(t, "POST", at+"/recording/"+r.ID+"/stop", nil).Problem(t, 403, "forbidden")
	other := s.Register(t)
	other.Call(t, "GET", at+"/recordings", nil).Problem(t, 404, "not_found")
	other.Call(t, "GET", "/v1/me/recordings/"+r.ID+"/playback-url", nil).Problem(t, 404, "not_found")

	owner.Call(t, "DELETE", "/v1/me/recordings/"+r.ID, nil).Is(t, 200)
	owner.Call(t, "GET", "/v1/me/recordings/"+r.ID+"/playback-url", nil).Problem(t, 409, "conflict")
	owner.Call(t, "GET", at+"/recordings", nil).Into(t, 200, &list)
	require.Empty(t, list)
}

// TestNoSeparateTracks: recordings have none unless they were asked for. One in which no microphone was on has an empty list.
func TestNoSeparateTracks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for _, separate := range []bool{false, true} {
		at := sessionsPath + "/" + owner.Session(t, nil).ID
		fields := map[string]any{}
		if separate {
			fields["separateTracks"] = true
		}
		var r api.SessionRecording
		owner.Call(t, "POST", at+"/recording/start", fields).Into(t, 201, &r)
		composePart(t, s, r.ID, 1, recording.ComposedPart{Length: 4 * time.Second})
		owner.Call(t, "POST", at+"/recording/"+r.ID+"/stop", nil).Is(t, 201)
		require.NoError(t, s.Recordings.FinishRecording(t.Context(), r.ID))
		owner.Call(t, "POST", at+"/recording/"+r.ID+"/stop", nil).Into(t, 201, &r)
		require.Equal(t, api.SessionRecordingStateReady, r.State)
		require.Equal(t, separate, r.SeparateTracks)
		require.True(t, r.IncompleteReason.IsNull())
		var p api.RecordingPlaybackURL
		owner.Call(t, "GET", "/v1/me/recordings/"+r.ID+"/playback-url", nil).Into(t, 200, &p)
		require.Equal(t, r.Tracks, p.Tracks)
		require.Equal(t, !separate, r.Tracks.IsNull())
		if separate {
			require.Empty(t, r.Tracks.MustGet())
		}
	}
}
