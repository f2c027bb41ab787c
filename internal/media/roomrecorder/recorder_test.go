package roomrecorder

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/recorder"
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
	ended := 0
	first := open(t, dir, func(c *Config) { c.Ended = func() { ended++ } })
	w := write(t, first, "rec_1")
	require.Empty(t, first.Parts())
	require.Equal(t, []Part{{"rec_1", 1}}, first.Writing())
	require.Equal(t, Writing, first.State(Part{"rec_1", 1}))
	_, err := first.Compose(t.Context(), Part{"rec_1", 1}, Composition{Layout: compose.Grid}, nil)
	require.ErrorIs(t, err, ErrNoPart)
	defer w.Close()

	// The process is killed here: nothing is closed, and a composition leaves its folder.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "rec_0", "1"+workSuffix), folderMode))
	second := open(t, dir, nil)
	part := Part{"rec_1", 1}
	require.Equal(t, []Part{part}, second.Parts())
	require.NoDirExists(t, filepath.Join(dir, "rec_0", "1"+workSuffix))

	fault := errors.New("the storage is away")
	_, err = second.Compose(t.Context(), part, Composition{Layout: compose.Grid}, func(Video) error { return fault })
	require.ErrorIs(t, err, fault)
	var got units
	result, err := second.Compose(t.Context(), part, Composition{Layout: compose.Grid}, func(v Video) error {
		require.WithinDuration(t, time.Now(), v.Started, time.Minute)
		_, err := second.Compose(t.Context(), part, Composition{Layout: compose.Grid}, nil)
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
	require.Zero(t, ended)
	require.NoError(t, w.Close())
	first.End("rec_1", w, nil)
	require.Equal(t, 1, ended)
	require.Equal(t, []Part{part}, first.Parts())
	require.Empty(t, first.Writing())
}

// TestTheReasonOfAnEarlyEnd is still known after the next start.
func TestTheReasonOfAnEarlyEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := open(t, dir, nil)
	reasons := []error{nil, trackfile.ErrLimit, errors.New("input/output error")}
	for _, reason := range reasons {
		w := write(t, r, "rec_1")
		require.NoError(t, w.Close())
		r.End("rec_1", w, reason)
	}
	for _, r := range []*Recorder{r, open(t, dir, nil)} {
		for i, reason := range reasons {
			require.Equal(t, reason, r.Incomplete(Part{"rec_1", i + 1}))
		}
	}
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
	_, err = r.Compose(t.Context(), Part{"rec_1", 1}, Composition{Layout: compose.Grid}, nil)
	require.ErrorIs(t, err, full)
	_, err = r.Begin("../rec_2", nil)
	require.Error(t, err)
}

// shelf is a storage and a database of one recording.
type shelf struct {
	dir string

	mu       sync.Mutex
	inits    []recorder.Init
	segments []recorder.Segment
	closed   int
}

func (*shelf) OpenTake(context.Context, string, string) (int, error)              { return 1, nil }
func (*shelf) EndRecording(context.Context, string, string) error                 { return nil }
func (*shelf) OpenTakes(context.Context) ([]recorder.OpenTake, error)             { return nil, nil }
func (*shelf) Beat(context.Context, []recorder.TakeID) ([]recorder.TakeID, error) { return nil, nil }

func (s *shelf) SaveSegments(_ context.Context, _ recorder.TakeID, inits []recorder.Init, segments []recorder.Segment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inits, s.segments = append(s.inits, inits...), append(s.segments, segments...)
	return nil
}

func (s *shelf) CloseTake(_ context.Context, _ recorder.TakeID, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reason == "" {
		s.closed++
	}
	return nil
}

func (s *shelf) PutFile(_ context.Context, key, path string) (int64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	to := filepath.Join(s.dir, strings.ReplaceAll(key, "/", "-"))
	return int64(len(b)), os.WriteFile(to, b, 0o600)
}

// TestAPartBecomesATake: the importer of recordings stores a composed part as segments of 4 to 6 seconds without a discontinuity.
func TestAPartBecomesATake(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := open(t, t.TempDir(), func(c *Config) { c.Now = func() time.Time { return now } })
	began := now
	w, err := r.Begin("rec_1", nil)
	require.NoError(t, err)
	w.Note(trackfile.Event{Kind: trackfile.Joined, UserID: "ann", Name: "Ann"})
	now = now.Add(14 * time.Second)
	require.NoError(t, w.Close())
	r.End("rec_1", w, nil)

	s := &shelf{dir: t.TempDir()}
	take, err := recorder.Import(t.Context(), recorder.Config{Dir: t.TempDir(), Reports: s, Files: s}, "rec_1", func(to *recorder.Importer) error {
		_, err := r.Compose(t.Context(), Part{"rec_1", 1}, Composition{Layout: compose.Grid}, func(v Video) error { return rtmp.ReadFLV(v.FLV, v.Started, to) })
		return err
	})
	require.NoError(t, err)
	require.Equal(t, 1, take)
	require.Equal(t, 1, s.closed)
	require.Len(t, s.inits, 1)
	require.Equal(t, []int{compose.Width, compose.Height}, []int{s.inits[0].Width, s.inits[0].Height})
	require.GreaterOrEqual(t, len(s.segments), 3)
	total := time.Duration(0)
	for i, x := range s.segments {
		require.False(t, x.Discontinuity)
		require.WithinDuration(t, began.Add(total), x.StartedAt, 100*time.Millisecond, "segment %d", i)
		total += x.Duration
	}
	require.InDelta(t, 14, total.Seconds(), 0.1)
}
