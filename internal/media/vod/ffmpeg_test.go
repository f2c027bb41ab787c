package vod_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/vod"
	"showfloor/internal/testkit/moduleroot"
	"showfloor/internal/testkit/recordingtest"
)

// run runs ffmpeg or ffprobe, and returns what it prints and what it complains about.
func run(t testing.TB, name string, args ...string) (out, complaints string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, stderr.String())
	}
	return stdout.String(), stderr.String()
}

// frames counts the decoded frames of a file or playlist, by kind: v or a.
func frames(t testing.TB, kind, url string) int {
	t.Helper()
	out, _ := run(t, "ffprobe", "-v", "fatal", "-count_frames", "-select_streams", kind, "-show_entries", "stream=nb_read_frames",
		"-of", "csv=p=0", url)
	n, err := strconv.Atoi(strings.Fields(strings.ReplaceAll(out, ",", " "))[0])
	require.NoError(t, err)
	return n
}

// duration is what ffprobe says of a file or playlist.
func duration(t testing.TB, url string) time.Duration {
	t.Helper()
	out, _ := run(t, "ffprobe", "-v", "fatal", "-show_entries", "format=duration", "-of", "json", url)
	var v struct {
		Format struct{ Duration string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	d, err := time.ParseDuration(v.Format.Duration + "s")
	require.NoError(t, err)
	return d
}

// plays decodes all of a playlist and returns ffmpeg's complaints.
func plays(t testing.TB, url string) string {
	t.Helper()
	_, complaints := run(t, "ffmpeg", "-v", "warning", "-nostdin", "-i", url, "-map", "0", "-f", "null", "-")
	return complaints
}

// secondAt returns the second that the clock shows at a time of the playlist. ffmpeg decodes all before it: seeks to any
// place but a segment's beginning fail in version 5.1 with every HLS of fragmented MP4.
func secondAt(t testing.TB, url string, at string) int {
	t.Helper()
	out, complaints := run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", url, "-ss", at, "-map", "0:v", "-frames:v", "1",
		"-vf", "scale=8:1:flags=area", "-pix_fmt", "gray", "-f", "rawvideo", "-")
	require.Len(t, out, 8, complaints)
	second := 0
	for bit := range 8 {
		if out[bit] > 128 {
			second += 1 << bit
		}
	}
	return second
}

func length(m vod.Media) time.Duration {
	var sum time.Duration
	for _, s := range m.Segments {
		sum += s.Duration
	}
	return sum
}

// TestFFmpegPlaysTheSample: the file's frames are in the recording, B-frames included, and nothing
// else.
func TestFFmpegPlaysTheSample(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	file := moduleroot.Path(t, "sample.mp4")
	m := s.record("rec_1", recordingtest.Part{Clip: recordingtest.Clip{File: file}})
	require.Greater(t, len(m.Segments), 5)
	url := s.http.URL + s.path("rec_1", "index.m3u8")
	require.Empty(t, plays(t, url))
	require.InDelta(t, length(m).Seconds(), duration(t, url).Seconds(), 0.0005)
	require.Equal(t, frames(t, "v", file), frames(t, "v", url))
	sound := frames(t, "a", url)
	require.InDelta(t, frames(t, "a", file), sound, 2, "priming is left out")
}

// complaintsOf returns what ffmpeg complains about while it decodes all of a playlist, without its remark that it
// skips a second init (it decodes what follows by the parameter sets in key pictures).
func complaintsOf(t testing.TB, url string) []string {
	t.Helper()
	return slices.DeleteFunc(strings.Split(plays(t, url), "\n"), func(line string) bool {
		return line == "" || strings.HasSuffix(line, "Found duplicated MOOV Atom. Skipped it")
	})
}

// TestFFmpegPlaysTakes: a restart of the recorder, whose timestamps continue.
func TestFFmpegPlaysTakes(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	m := s.record("rec_1",
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 10, BFrames: 2}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 9, From: 10}, NewTake: true, Continued: true})
	url := s.http.URL + s.path("rec_1", "index.m3u8")
	require.Empty(t, complaintsOf(t, url))
	require.InDelta(t, length(m).Seconds(), duration(t, url).Seconds(), 0.0005)
	require.Equal(t, 19*10, frames(t, "v", url))
	for _, at := range []int{5, 11, 18} {
		require.Equal(t, at, secondAt(t, url, strconv.Itoa(at)+".5"))
	}
}

func TestFFmpegPlaysAChangedSize(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	m := s.record("rec_1",
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 10}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 9, From: 10, Size: "320x180"}})
	url := s.http.URL + s.path("rec_1", "index.m3u8")
	require.Empty(t, complaintsOf(t, url))
	require.InDelta(t, length(m).Seconds(), duration(t, url).Seconds(), 0.0005)
	require.Equal(t, 19*10, frames(t, "v", url))
}

// TestFFmpegPlaysGaps: the pictures after a part without any are at their time. ffmpeg 5.1 doesn't know EXT-X-GAP and
// complains about missing files.
func TestFFmpegPlaysGaps(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	m := s.record("rec_1",
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 8}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 4, From: 8, Blind: true}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 8, From: 12}})
	url := s.http.URL + s.path("rec_1", "index.m3u8")
	require.Contains(t, plays(t, url), "404 Not Found")
	require.InDelta(t, length(m).Seconds(), duration(t, url).Seconds(), 0.0005)
	require.Equal(t, 16*10, frames(t, "v", url))
}

func TestFFmpegPlaysSound(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	m := s.record("rec_1", recordingtest.Part{Clip: recordingtest.Clip{Seconds: 10, Blind: true}})
	url := s.http.URL + s.path("rec_1", "index.m3u8")
	require.Empty(t, plays(t, url))
	require.InDelta(t, length(m).Seconds(), duration(t, url).Seconds(), 0.0005)
	_, err := os.Stat(filepath.Join(s.dir, "recordings", "rec_1", "1-1-v.m4s"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
