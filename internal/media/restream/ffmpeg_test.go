package restream_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/restream"
)

// TestFfmpegReadsTheSameMedia: its listener decodes each picture, and its pictures are those of the encoder.
func TestFfmpegReadsTheSameMedia(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := "rtmp://" + free.Addr().String() + "/live/" + key
	require.NoError(t, free.Close())
	out := filepath.Join(t.TempDir(), "out.flv")
	ffmpeg := exec.CommandContext(t.Context(), "ffmpeg", "-hide_banner", "-loglevel", "warning", "-listen", "1", "-i", address,
		"-c", "copy", "-y", out)
	text := &lockedBuffer{}
	ffmpeg.Stderr = text
	require.NoError(t, ffmpeg.Start())
	r := newRig(t, func(c *restream.Config) {
		c.Pause = func(ctx context.Context, _ time.Duration) error { return pauseFor(ctx, 100*time.Millisecond) }
	})
	r.route("one", address) // it tries until the listener is there
	done := r.feed(units(t), 4)
	r.isLive("one")
	<-done
	r.publisher.Close()
	require.NoError(t, ffmpeg.Wait(), text.String())
	require.NotContains(t, text.String(), "non-monoton")
	require.NotContains(t, text.String(), "Invalid")
	require.Empty(t, r.failed)

	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Greater(t, len(got), 10_000)
	decoded, err := exec.CommandContext(t.Context(), "ffmpeg", "-hide_banner", "-loglevel", "error", "-xerror", "-i", out, "-f", "framemd5", "-").
		CombinedOutput()
	require.NoError(t, err, string(decoded))
	require.Greater(t, strings.Count(string(decoded), "\n0,"), 50, "pictures")
	require.Greater(t, strings.Count(string(decoded), "\n1,"), 50, "sound")
}

func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
