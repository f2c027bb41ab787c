package compose

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/trackfile"
)

// shortPieces returns an engine whose pieces are of 4 s.
func shortPieces() *Engine {
	e := New(slog.New(slog.DiscardHandler))
	e.piece = 4 * time.Second
	return e
}

// pictureTimes returns the times of all pictures of a video.
func pictureTimes(t *testing.T, path string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time",
		"-of", "csv=p=0", path).Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

// requireEqual requires that two videos have the same pictures at the same times, apart from flashes that are a picture apart.
func requireEqual(t *testing.T, want, got *video) {
	t.Helper()
	require.Equal(t, pictureTimes(t, want.path), pictureTimes(t, got.path))
	require.Len(t, got.frames, len(want.frames))
	differ := 0
	for n := range want.frames {
		sum := 0
		for i, x := range want.frames[n] {
			d := int(x) - int(got.frames[n][i])
			sum += max(d, -d)
		}
		if sum/len(want.frames[n]) > 8 {
			differ++
		}
	}
	require.LessOrEqual(t, differ, len(want.frames)/50)
	require.Equal(t, want.result.Length, got.result.Length)
	require.Equal(t, want.result.LostPackets, got.result.LostPackets)
	require.Equal(t, want.result.LeftPictures, got.result.LeftPictures)
	require.Equal(t, want.result.FailedDecoders, got.result.FailedDecoders)
	require.InDelta(t, len(want.sound), len(got.sound), 1)
}

// busyRoom is a room of 26 s in which ann changes her size, leaves and comes back around the ends of pieces.
func busyRoom(t *testing.T, bob participant) *room {
	t.Helper()
	r := newRoom(t)
	at := seconds
	for n, x := range []struct {
		size     string
		from, to float64
	}{{"320x180", 0, 3.9}, {"640x480", 3.9, 7.5}, {"360x640", 8.5, 12}, {"640x360", 12, 21}} {
		r.join(participant{
			id: "ann", color: "red", size: x.size, codec: "VP8", from: at(x.from), to: at(x.to), offset: time.Duration(n) * time.Minute,
			transit: 30 * time.Millisecond, silent: true,
		})
	}
	r.join(bob)
	return r
}

// TestPieces: pieces that are composed while the room writes give the same video as a composition of the whole, and sound and pictures
// are within 45 ms at each second.
func TestPieces(t *testing.T) {
	t.Parallel()
	r := busyRoom(t, participant{
		id: "bob", color: "blue", size: "640x360", codec: "H264", to: 26 * time.Second, offset: -5 * time.Minute, transit: 20 * time.Millisecond,
	})
	e, folder := shortPieces(), t.TempDir()
	var done []time.Duration
	dir := r.recordDuring(false, 2*time.Second, func(dir string) {
		d, err := e.Advance(t.Context(), Job{Dir: dir, Folder: folder, Layout: Grid})
		require.NoError(t, err)
		done = append(done, d)
	})
	require.Contains(t, done, 8*time.Second)
	require.Equal(t, 12*time.Second, done[len(done)-1])
	first := time.Hour
	v := composedBy(t, e, Job{Dir: dir, Folder: folder, Layout: Grid, Progress: func(at time.Duration) { first = min(first, at) }})
	require.Equal(t, 12*time.Second, first, "the pieces are used")
	require.Zero(t, v.result.FailedDecoders)
	require.Empty(t, e.sessions)
	whole := composed(t, dir, Grid)
	requireEqual(t, whole, v)
	two, one := inGrid(make([]tile, 2), area{w: Width, h: Height}), area{w: Width, h: Height}
	tones := v.tones()
	require.Len(t, tones, 25) // there is no silence before the first one
	for from, x := range map[float64]area{0.5: two[1].area, 12.5: two[1].area, 21.5: one} {
		to := map[float64]float64{0.5: 3.5, 12.5: 20.5, 21.5: 26}[from]
		var flashes []float64
		for _, at := range v.flashes(inner(x)) {
			if at > from && at < to {
				flashes = append(flashes, at)
			}
		}
		require.GreaterOrEqual(t, len(flashes), 3, "from %v", from)
		require.LessOrEqual(t, apart(t, flashes, tones), 0.045, "from %v", from)
	}
}

// TestRareKeys: without key pictures in between, Advance waits until it has more to compose than to decode again.
func TestRareKeys(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(participant{id: "bob", color: "blue", size: "1280x720", codec: "VP8", to: 31 * time.Second, rareKeys: true, silent: true})
	e, folder := shortPieces(), t.TempDir()
	e.piece = 2 * time.Second
	steps := map[time.Duration]bool{}
	dir := r.recordDuring(false, time.Second, func(dir string) {
		d, err := e.Advance(t.Context(), Job{Dir: dir, Folder: folder, Layout: Grid})
		require.NoError(t, err)
		steps[d] = true
	})
	require.Equal(t, map[time.Duration]bool{0: true, seconds(2): true, seconds(4): true, seconds(6): true, seconds(10): true, seconds(16): true}, steps)
	v := composedBy(t, e, Job{Dir: dir, Folder: folder, Layout: Grid})
	require.Len(t, v.flashes(inner(area{w: Width, h: Height})), 30)
}

// TestSilence: a room in which nothing happens is composed, too. Another layout begins again.
func TestSilence(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.note(0, trackfile.Event{Kind: trackfile.Joined, UserID: "ann", Name: "Ann"})
	e := shortPieces()
	j := Job{Dir: r.record(false), Folder: t.TempDir(), Layout: Grid}
	done, err := e.Advance(t.Context(), j)
	require.NoError(t, err)
	require.Zero(t, done)
	j.Written = 18 * time.Second
	done, err = e.Advance(t.Context(), j)
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, done)
	j.Layout, j.Written = Speaker, 0
	done, err = e.Advance(t.Context(), j)
	require.NoError(t, err)
	require.Zero(t, done)
	e.Forget(j.Folder)
	require.Empty(t, e.sessions)
}

// childEnv names the folders of TestChildComposes, separated by a colon.
const childEnv = "COMPOSE_KILLED"

// TestChildComposes is the child process of TestKill. It prints the time of each composed second.
func TestChildComposes(t *testing.T) {
	dir, folder, ok := strings.Cut(os.Getenv(childEnv), ":")
	if !ok {
		t.Skip("only for TestKill")
	}
	_, err := shortPieces().Run(t.Context(), Job{Dir: dir, Folder: folder, Layout: Grid, Progress: func(at time.Duration) {
		_, _ = fmt.Fprintln(os.Stdout, at)
	}}, func(flv io.Reader) error {
		_, err := io.Copy(io.Discard, flv)
		return err
	})
	require.NoError(t, err)
}

// TestKill: a process that is killed in a piece leaves those before it. The next one continues, and the video is the same.
func TestKill(t *testing.T) {
	t.Parallel()
	r := busyRoom(t, participant{
		id: "bob", color: "blue", size: "640x360", codec: "VP8", to: 22 * time.Second, transit: 20 * time.Millisecond, loss: 0.003,
	})
	dir, folder := r.record(false), t.TempDir()
	for _, until := range []string{"5s", "10s"} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestChildComposes$")
		child.Env = append(os.Environ(), childEnv+"="+dir+":"+folder)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != until {
			continue
		}
		require.NoError(t, child.Process.Kill())
		_, _ = io.Copy(io.Discard, out)
		require.Error(t, child.Wait())
	}
	finished, err := filepath.Glob(filepath.Join(folder, "piece-*"+pieceSuffix))
	require.NoError(t, err)
	require.Len(t, finished, 2)
	first := time.Hour
	v := composedBy(t, shortPieces(), Job{Dir: dir, Folder: folder, Layout: Grid, Progress: func(at time.Duration) { first = min(first, at) }})
	require.Equal(t, 8*time.Second, first, "the pieces are used")
	requireEqual(t, composed(t, dir, Grid), v)
	rest, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, rest, 2*6, "only pieces and their notes stay")
}
