package recording_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/recording"
)

// startSeparate begins to record a session with separate tracks, and returns the first part.
func (r *rig) startSeparate(t *testing.T) recording.PartID {
	t.Helper()
	var got api.SessionRecording
	at := "/v1/me/sessions/" + r.owner.Session(t, nil).ID + "/recording/start"
	r.owner.Call(t, "POST", at, map[string]any{"separateTracks": true}).Into(t, 201, &got)
	return r.openPart(t, got.ID)
}

// take stores a segment of a part, which has 140 bytes with its init.
func (r *rig) take(t *testing.T, p recording.PartID) {
	t.Helper()
	n, err := r.Recordings.OpenTakeOfPart(t.Context(), p, "key")
	require.NoError(t, err)
	take := recording.TakeID{RecordingID: p.RecordingID, Take: n}
	r.save(t, take, r.Clock.Now(), 1)
	r.close(t, take, "")
}

// putTrack stores the file of a track, of 5 bytes, and returns its path.
func (r *rig) putTrack(t *testing.T, p recording.PartID, number int) (path string) {
	t.Helper()
	key := recordfile.Key(p.RecordingID, recordfile.SeparateTrack(p.Part, number, "KEY"))
	info, err := r.store.Put(t.Context(), key, strings.NewReader("sound"), 5)
	require.NoError(t, err)
	require.Equal(t, "audio/mp4", info.ContentType)
	return filepath.Join(r.files, filepath.FromSlash(key))
}

func (r *rig) countTracks(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM recording_tracks").Scan(&n))
	return n
}

// end ends the session of a recording, and runs the jobs.
func (r *rig) end(t *testing.T, recordingID string) recording.View {
	t.Helper()
	r.owner.Call(t, "POST", "/v1/me/sessions/"+*r.get(t, recordingID).SessionID+"/end", nil).Is(t, 201)
	r.work(t)
	return r.get(t, recordingID)
}

// TestTracksAreStoredOnce: they are measured and deleted with the recording, however often a node repeats its report.
func TestTracksAreStoredOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.startSeparate(t)
	require.NoError(t, r.Recordings.ClosePart(t.Context(), p, "the disk of a server was full or failed"))
	r.take(t, p)
	path := r.putTrack(t, p, 1)
	c := recording.ComposedPart{
		Length: 4 * time.Second, Tracks: []recording.Track{{Number: 1, UserID: "ada", Bytes: 5}}, Reason: "one is missing",
	}
	free := func() int {
		n, err := r.Recordings.FreeTracks(t.Context(), p.RecordingID)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 1000, free())
	for range 2 {
		require.NoError(t, r.Recordings.FinishComposedPart(t.Context(), p, c))
		require.Equal(t, 1, r.countTracks(t))
	}
	require.Equal(t, 999, free())
	r.measure(t)
	require.EqualValues(t, 145, r.stored(t), "before the recording is READY")
	v := r.end(t, p.RecordingID)
	require.Equal(t, recording.Ready, v.Status)
	require.EqualValues(t, 145, *v.SizeBytes)
	require.Equal(t, "the disk of a server was full or failed; one is missing", *v.IncompleteReason)
	r.measure(t)
	require.EqualValues(t, 145, r.stored(t))

	_, err := r.Recordings.DeleteRecording(t.Context(), r.caller, p.RecordingID)
	require.NoError(t, err)
	require.FileExists(t, path)
	r.work(t)
	require.NoFileExists(t, path)
	require.Zero(t, r.countTracks(t))

	// A node that was cut off stores its files later.
	path = r.putTrack(t, p, 2)
	require.NoError(t, r.Recordings.FinishComposedPart(t.Context(), p, c))
	require.Zero(t, r.countTracks(t))
	r.work(t)
	require.NoFileExists(t, path)
}

// TestTracksOfALostPart aren't listed: the part was ended while its node was silent.
func TestTracksOfALostPart(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.startSeparate(t)
	require.NoError(t, r.Recordings.LosePart(t.Context(), p, true))
	tracks := []recording.Track{{Number: 1, UserID: "ada", Bytes: 5}}
	require.NoError(t, r.Recordings.FinishComposedPart(t.Context(), p, recording.ComposedPart{Length: time.Second, Tracks: tracks}))
	require.Zero(t, r.countTracks(t))
	other := r.openPart(t, p.RecordingID)
	r.take(t, other)
	require.NoError(t, r.Recordings.FinishComposedPart(t.Context(), other, recording.ComposedPart{Length: time.Second, Tracks: tracks}))
	v := r.end(t, p.RecordingID)
	require.Equal(t, "a server lost what it had recorded", *v.IncompleteReason)
	url, err := r.Recordings.GetRecordingPlaybackURL(t.Context(), r.caller, p.RecordingID)
	require.NoError(t, err)
	require.Len(t, url.Tracks, 1)
	require.Zero(t, url.Tracks[0].Start, "the lost part isn't in the video")
}

// TestTracksAreKeptByALegalHold, and by the retention until it ends.
func TestTracksAreKeptByALegalHold(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.startSeparate(t)
	r.take(t, p)
	path := r.putTrack(t, p, 1)
	tracks := []recording.Track{{Number: 1, UserID: "ada", Bytes: 5}}
	require.NoError(t, r.Recordings.FinishComposedPart(t.Context(), p, recording.ComposedPart{Length: time.Second, Tracks: tracks}))
	r.end(t, p.RecordingID)
	set := func(hold bool) {
		_, err := r.Pool.Exec(t.Context(), "UPDATE recordings SET legal_hold = $1, retain_until = $2", hold, r.Clock.Now().Add(-time.Second))
		require.NoError(t, err)
	}
	set(true)
	require.NoError(t, r.Recordings.DeleteOld(t.Context()))
	r.work(t)
	require.FileExists(t, path)
	require.Equal(t, 1, r.countTracks(t))
	set(false)
	require.NoError(t, r.Recordings.DeleteOld(t.Context()))
	r.work(t)
	_, err := os.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Zero(t, r.countTracks(t))
}
