package roomrecorder

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/media/sfu"
	"showfloor/internal/media/trackfile"
	"showfloor/internal/testkit/browsertest"
)

func TestMain(m *testing.M) { browsertest.Main(m) }

var _ sfu.Recordings = (*Recorder)(nil)

func open(t *testing.T, dir string, change func(*Config)) *Recorder {
	t.Helper()
	c := Config{Dir: dir, Engine: compose.New(slog.New(slog.DiscardHandler))}
	if change != nil {
		change(&c)
	}
	r, err := Open(c)
	require.NoError(t, err)
	return r
}

// write writes a part of a second, in which ann is there.
func write(t *testing.T, r *Recorder, recordingID string) *trackfile.Writer {
	t.Helper()
	w, err := r.Begin(recordingID, nil)
	require.NoError(t, err)
	w.Note(trackfile.Event{Kind: trackfile.Joined, UserID: "ann", Name: "Ann"})
	require.Eventually(t, func() bool { return w.Since() > 300*time.Millisecond }, 30*time.Second, time.Millisecond)
	w.Note(trackfile.Event{Kind: trackfile.Left, UserID: "ann"})
	w.Flush()
	return w
}

// units counts what an importer gets.
type units struct{ pictures, sound int }

func (u *units) Write(x *hub.Unit) error {
	if x.Track.Codec.Video() {
		u.pictures++
	} else {
		u.sound++
	}
	return nil
}

func (*units) Discontinuity() {}

// TestAPartBecomesAVideo that the importer of recordings reads. A part that a killed process left is found again.
func TestAPartBecomesAVideo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var ended []Part
	first := open(t, dir, func(c *Config) { c.Ended = func(p Part, _ error) { ended = append(ended, p) } })
	w := write(t, first, "rec_1")
	require.Empty(t, first.Parts())
	require.True(t, first.Writing("rec_1"))
	_, err := first.Compose(t.Context(), Part{"rec_1", 1}, compose.Grid, nil, nil)
	require.ErrorIs(t, err, ErrNoPart)
	defer w.Close()

	// The process is killed here: nothing is closed, and a composition leaves its folder.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "rec_0", "1"+workSuffix), folderMode))
	second := open(t, dir, nil)
	part := Part{"rec_1", 1}
	require.Equal(t, []Part{part}, second.Parts())
	require.NoDirExists(t, filepath.Join(dir, "rec_0", "1"+workSuffix))

	fault := errors.New("the storage is away")
	_, err = second.Compose(t.Context(), part, compose.Grid, nil, func(Video) error { return fault })
	require.ErrorIs(t, err, fault)
	var got units
	result, err := second.Compose(t.Context(), part, compose.Grid, nil, func(v Video) error {
		require.WithinDuration(t, time.Now(), v.Started, time.Minute)
		_, err := second.Compose(t.Context(), part, compose.Grid, nil, nil)
		require.ErrorIs(t, err, ErrBusy)
		require.ErrorIs(t, second.Remove(part), ErrBusy)
		return rtmp.ReadFLV(v.FLV, v.Started, &got)
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, got.pictures, int(result.Length.Seconds()*compose.FrameRate)-1)
	require.NotZero(t, got.sound)

	again := write(t, second, "rec_1")
	require.NoError(t, again.Close())
	second.End("rec_1", again, nil)
	require.Equal(t, []Part{part, {"rec_1", 2}}, second.Parts())
	require.NoError(t, second.Remove(part))
	require.NoError(t, second.Remove(part))
	require.NoError(t, second.Remove(Part{"rec_1", 2}))
	require.Empty(t, second.Parts())
	require.NoDirExists(t, filepath.Join(dir, "rec_1"))
	require.Empty(t, ended)
	require.NoError(t, w.Close())
	first.End("rec_1", w, nil)
	require.Equal(t, []Part{part}, ended)
}

// TestNoSpace: neither parts nor compositions begin while the disk is almost full.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	var full error
	r := open(t, t.TempDir(), func(c *Config) { c.Refuse = func() error { return full } })
	w := write(t, r, "rec_1")
	require.NoError(t, w.Close())
	r.End("rec_1", w, nil)
	full = errors.New("no space")
	_, err := r.Begin("rec_2", nil)
	require.ErrorIs(t, err, full)
	_, err = r.Compose(t.Context(), Part{"rec_1", 1}, compose.Grid, nil, nil)
	require.ErrorIs(t, err, full)
	_, err = r.Begin("../rec_2", nil)
	require.Error(t, err)
}
