package roomrecorder

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/trackfile"
)

// handClock is a clock that a test moves.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// pieces returns the finished pieces of a part.
func pieces(t *testing.T, r *Recorder, p Part) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(r.folder(p)+workSuffix, "*.flv"))
	require.NoError(t, err)
	return list
}

// TestAdvance: pieces of a part are composed while its room writes, survive a restart, and go when the part is removed.
func TestAdvance(t *testing.T) {
	t.Parallel()
	dir, part := t.TempDir(), Part{"rec_1", 1}
	clock := &handClock{now: time.Now()}
	first := open(t, dir, func(c *Config) { c.Now = clock.Now })
	require.ErrorIs(t, first.Advance(t.Context(), part, compose.Grid), ErrNoPart)
	w, err := first.Begin("rec_1", nil)
	require.NoError(t, err)
	w.Note(trackfile.Event{Kind: trackfile.Joined, UserID: "ann", Name: "Ann"})
	require.NoError(t, first.Advance(t.Context(), part, compose.Grid))
	require.Empty(t, pieces(t, first, part))
	clock.pass(80 * time.Second)
	require.NoError(t, first.Advance(t.Context(), part, compose.Grid))
	require.Len(t, pieces(t, first, part), 1)
	require.NoError(t, first.Remove(part), "no effect on a part that is being written")

	// The process is killed here.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "rec_2", "1"+workSuffix), folderMode))
	second := open(t, dir, nil)
	require.Len(t, pieces(t, second, part), 1)
	require.NoDirExists(t, filepath.Join(dir, "rec_2", "1"+workSuffix))
	require.ErrorIs(t, second.Advance(t.Context(), part, compose.Grid), ErrNoPart, "it has ended")
	least := time.Hour
	fault := errors.New("the storage is away")
	c := Composition{Layout: compose.Grid, Progress: func(done time.Duration) { least = min(least, done) }}
	w.Note(trackfile.Event{Kind: trackfile.Left, UserID: "ann"})
	w.Flush()
	_, err = second.Compose(t.Context(), part, c, func(Video) error { return fault })
	require.ErrorIs(t, err, fault)
	require.Equal(t, time.Minute, least, "the piece is used")
	require.Len(t, pieces(t, second, part), 2)
	least = time.Hour
	result, err := second.Compose(t.Context(), part, c, func(v Video) error {
		_, err := io.Copy(io.Discard, v.FLV)
		return err
	})
	require.NoError(t, err)
	require.Equal(t, time.Hour, least, "all pieces are used")
	require.InDelta(t, 80, result.Length.Seconds(), 1)
	require.NoError(t, second.Remove(part))
	require.NoDirExists(t, filepath.Join(dir, "rec_1"))
	require.NoError(t, w.Close())
}

// TestAdvanceIsAlone: a part that ends while it is composed in advance is neither composed nor removed until that has returned.
func TestAdvanceIsAlone(t *testing.T) {
	t.Parallel()
	part, clock := Part{"rec_1", 1}, &handClock{now: time.Now()}
	called, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r := open(t, t.TempDir(), func(c *Config) {
		c.Now = clock.Now
		c.Refuse = func() error {
			if clock.Now().Year() == 2100 { // within Advance
				once.Do(func() { close(called); <-proceed })
			}
			return nil
		}
	})
	w, err := r.Begin("rec_1", nil)
	require.NoError(t, err)
	w.Note(trackfile.Event{Kind: trackfile.Joined, UserID: "ann", Name: "Ann"})
	w.Flush()
	require.NoError(t, w.Close())
	clock.mu.Lock()
	clock.now = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	clock.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- r.Advance(t.Context(), part, compose.Grid) }()
	<-called
	require.ErrorIs(t, r.Advance(t.Context(), part, compose.Grid), ErrBusy)
	r.End("rec_1", w, nil)
	require.ErrorIs(t, r.Remove(part), ErrBusy)
	_, err = r.Compose(t.Context(), part, Composition{}, nil)
	require.ErrorIs(t, err, ErrBusy)
	clock.mu.Lock()
	clock.now = time.Now()
	clock.mu.Unlock()
	close(proceed)
	<-done
	require.NoError(t, r.Remove(part))
}
