package recordgate

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/blob"
	"showfloor/internal/media/compose"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/recording"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestMissing: the tenant reads what a composition has left out.
func TestMissing(t *testing.T) {
	t.Parallel()
	require.Empty(t, missing(compose.Result{}))
	require.Equal(t, "some microphones can't be heard (2): more than 80 were on at a time", missing(compose.Result{LeftVoices: 2}))
	all := missing(compose.Result{LeftTracks: 1, LeftVoices: 2, LeftFiles: 3})
	require.Len(t, strings.Split(all, "; "), 3, all)
}

// partRig is a part of a session's recording with separate tracks.
type partRig struct {
	*apitest.Server

	rooms  *Rooms
	part   recording.PartID
	folder string // of the store
	made   compose.Result
}

// newPartRig makes a part whose composition has made three files of 5 bytes.
func newPartRig(t *testing.T) *partRig {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	folder, local := t.TempDir(), t.TempDir()
	store, err := blob.Open(t.Context(), blob.Config{Dir: folder, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), Files: store})
	owner := s.Register(t)
	var got api.SessionRecording
	start := "/v1/me/sessions/" + owner.Session(t, nil).ID + "/recording/start"
	owner.Call(t, "POST", start, map[string]any{"separateTracks": true}).Into(t, 201, &got)
	n, err := s.Recordings.OpenPart(t.Context(), got.ID)
	require.NoError(t, err)
	r := &partRig{
		Server: s, part: recording.PartID{RecordingID: got.ID, Part: n}, folder: folder, made: compose.Result{Length: time.Second},
		rooms: &Rooms{Gate: New(func() *recording.Service { return s.Recordings }, store, log), Log: log},
	}
	for _, user := range []string{"ada", "ben", "eve"} {
		path := filepath.Join(local, user+".m4a")
		require.NoError(t, os.WriteFile(path, []byte("sound"), 0o600))
		r.made.Voices = append(r.made.Voices, compose.Voice{UserID: user, Path: path})
	}
	return r
}

// stored returns the users and the numbers of the stored tracks, and the part's reason.
func (r *partRig) stored(t *testing.T) (users []string, numbers []int, reason *string) {
	t.Helper()
	rows, err := r.Pool.Query(t.Context(), "SELECT user_id, number FROM recording_tracks WHERE user_id <> 'other' ORDER BY number")
	require.NoError(t, err)
	for rows.Next() {
		var user string
		var number int
		require.NoError(t, rows.Scan(&user, &number))
		users, numbers = append(users, user), append(numbers, number)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT reason FROM recording_parts").Scan(&reason))
	return users, numbers, reason
}

// TestATrackIsLost: the others are stored, and the part has a reason.
func TestATrackIsLost(t *testing.T) {
	t.Parallel()
	r := newPartRig(t)
	require.NoError(t, os.Remove(r.made.Voices[1].Path))
	for range 2 {
		require.NoError(t, r.rooms.finish(t.Context(), recording.Claim{PartID: r.part, TracksKey: "KEY"}, r.made))
		users, numbers, reason := r.stored(t)
		require.Equal(t, []string{"ada", "eve"}, users)
		require.Equal(t, []int{1, 3}, numbers)
		require.Equal(t, "some participants have no separate track (1): there were too many, or their sound could not be read", *reason)
	}
	for _, n := range []int{1, 3} {
		b, err := os.ReadFile(filepath.Join(r.folder, recordfile.Key(r.part.RecordingID, recordfile.SeparateTrack(1, n, "KEY"))))
		require.NoError(t, err)
		require.Equal(t, "sound", string(b))
	}
}

// TestTooManyTracks: a recording has 1000.
func TestTooManyTracks(t *testing.T) {
	t.Parallel()
	r := newPartRig(t)
	_, err := r.Pool.Exec(t.Context(), `INSERT INTO recording_tracks (recording_id, part, number, tenant_id, user_id, duration_ms, size_bytes)
		SELECT $1, 7, n, 'tenant', 'other', 1, 1 FROM generate_series(1, 998) n`, r.part.RecordingID)
	require.NoError(t, err)
	require.NoError(t, r.rooms.finish(t.Context(), recording.Claim{PartID: r.part, TracksKey: "KEY"}, r.made))
	users, _, reason := r.stored(t)
	require.Equal(t, []string{"ada", "ben"}, users)
	require.Contains(t, *reason, "(1)")
}

// TestTheStorageFails: the part isn't finished, and the next attempt stores all.
func TestTheStorageFails(t *testing.T) {
	t.Parallel()
	r := newPartRig(t)
	blocked := filepath.Join(r.folder, "recordings")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	require.Error(t, r.rooms.finish(t.Context(), recording.Claim{PartID: r.part, TracksKey: "KEY"}, r.made))
	users, _, _ := r.stored(t)
	require.Empty(t, users)
	parts, err := r.Recordings.PartsHere(t.Context())
	require.NoError(t, err)
	require.Len(t, parts, 1)
	require.NoError(t, os.Remove(blocked))
	require.NoError(t, r.rooms.finish(t.Context(), recording.Claim{PartID: r.part, TracksKey: "KEY"}, r.made))
	users, _, reason := r.stored(t)
	require.Equal(t, []string{"ada", "ben", "eve"}, users)
	require.Nil(t, reason)
}
