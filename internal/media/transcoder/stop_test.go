package transcoder_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/transcoder"
	"showfloor/internal/testkit/moduleroot"
)

// using returns the processes whose arguments contain a text, by the folders in /proc.
func using(t testing.TB, text string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(text)) {
			found = append(found, filepath.Dir(file))
		}
	}
	return found
}

// TestCancel: the jail holds, the processes end within a second, and Run returns when they are gone.
func TestCancel(t *testing.T) {
	t.Setenv("SECRET_OF_THE_SERVER", "1")
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var during []string
	var limits, environment, status []byte
	var canceled time.Time
	_, err := transcoder.New().Run(ctx, transcoder.Job{
		Source: bytes.NewReader(recordedSample(t)), Length: 30 * second, HasVideo: true, HasAudio: true, Folder: dir,
		Renditions: []transcoder.Rendition{{Name: "large", Width: 1920, Height: 1080, VideoKbps: 4000, HEVC: true}},
		Progress: func(time.Duration) {
			if during == nil {
				during = using(t, dir)
				limits, environment, status = read(t, during[0]+"/limits"), read(t, during[0]+"/environ"), read(t, during[0]+"/stat")
				canceled = time.Now()
				cancel()
			}
		},
	})
	require.ErrorIs(t, err, context.Canceled)
	t.Logf("it ended %s after the cancel", time.Since(canceled))
	require.Len(t, during, 1, "nice and ffmpeg are the same process")
	require.Empty(t, using(t, dir))
	require.NoDirExists(t, during[0])
	require.Regexp(t, `Max address space +6442450944 +6442450944 `, string(limits))
	require.Regexp(t, `Max file size +54348608 +54348608 `, string(limits), "twice 30 s of 6,128 kbit/s, and 8 MiB")
	require.Regexp(t, `Max cpu time +2400 +2405 `, string(limits), "10 minutes and 30 times a minute")
	require.NotContains(t, string(environment), "SECRET")
	fields := strings.Fields(string(status[bytes.LastIndexByte(status, ')'):]))
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0) // 20 minus the nice value
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(min(20-own+15, 19)), fields[17], "nice adds to the priority of the tests")
	require.Equal(t, filepath.Base(during[0]), fields[3], "the process group is its own")

	_, err = transcoder.New().Run(ctx, transcoder.Job{
		Source: bytes.NewReader(nil), Length: second, HasAudio: true, Folder: dir, Renditions: []transcoder.Rendition{{Name: "a", AudioKbps: 64}},
	})
	require.ErrorIs(t, err, context.Canceled)
}

// recordedSample returns the sample with its index first.
func recordedSample(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.mp4")
	run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", moduleroot.Path(t, "sample.mp4"), "-c", "copy", "-movflags", "+faststart", path)
	return read(t, path)
}

// waiting is a source whose Read waits for the end of a context.
type waiting struct {
	ctx     context.Context
	reached chan struct{}
}

func (w waiting) Read([]byte) (int, error) {
	close(w.reached)
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}

// TestCancelWhileTheSourceWaits: a source that delivers nothing doesn't hold up the end.
func TestCancelWhileTheSourceWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	source := waiting{ctx, make(chan struct{})}
	go func() {
		<-source.reached
		cancel()
	}()
	start := read(t, flashes(t, "160x90", 2))
	_, err := transcoder.New().Run(ctx, transcoder.Job{
		Source: io.MultiReader(bytes.NewReader(start[:len(start)/2]), source), Length: 2 * second, HasVideo: true, Folder: dir,
		Renditions: []transcoder.Rendition{{Name: "a", Width: 160, Height: 90, VideoKbps: 100}},
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, using(t, dir))
}

// TestASourceThatFails: its error is returned, also if ffmpeg could make a shorter file.
func TestASourceThatFails(t *testing.T) {
	t.Parallel()
	gone := errors.New("the storage is gone")
	source := read(t, flashes(t, "160x90", 4))
	for _, n := range []int{0, 100, len(source) / 2, len(source)} {
		_, err := transcode(t, transcoder.Job{
			Source: io.MultiReader(bytes.NewReader(source[:n]), failing{gone}), Length: 4 * second, HasVideo: true, HasAudio: true,
			Renditions: []transcoder.Rendition{{Name: "a", Width: 160, Height: 90, VideoKbps: 100, AudioKbps: 64}},
		})
		require.ErrorIs(t, err, gone, "after %d bytes", n)
		var media *transcoder.MediaError
		require.NotErrorAs(t, err, &media)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestASourceThatPanics leaves no process behind.
func TestASourceThatPanics(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.PanicsWithValue(t, "a fault", func() {
		_, _ = transcoder.New().Run(t.Context(), transcoder.Job{
			Source: panicking{}, Length: second, HasAudio: true, Folder: dir, Renditions: []transcoder.Rendition{{Name: "a", AudioKbps: 64}},
		})
	})
	require.Empty(t, using(t, dir))
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("a fault") }
