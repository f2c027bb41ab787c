package mp4file_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/vod"
	"showfloor/internal/testkit/moduleroot"
	"showfloor/internal/testkit/recordingtest"
)

// folder has a recording's files. hidden takes Seek from them, as storage over the network does.
type folder struct {
	dir    string
	hidden bool
}

func (f folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	file, err := os.Open(filepath.Join(f.dir, name))
	if err == nil && f.hidden {
		return struct{ io.ReadCloser }{file}, nil
	}
	return file, err
}

// write makes the MP4 file of a recording.
func write(t testing.TB, parts ...recordingtest.Part) (path string, m vod.Media) {
	t.Helper()
	dir := t.TempDir()
	m = recordingtest.Make(t, dir, "rec_1", parts...)
	var seen []byte
	for _, hidden := range []bool{false, true} {
		f, err := mp4file.Prepare(t.Context(), folder{filepath.Join(dir, "recordings", "rec_1"), hidden}, &m)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, f.WriteTo(t.Context(), &b))
		require.EqualValues(t, f.Size(), b.Len())
		require.Equal(t, m.Length(), f.Duration())
		if hidden {
			require.True(t, bytes.Equal(seen, b.Bytes()))
		}
		seen = b.Bytes()
	}
	path = filepath.Join(dir, "video.mp4")
	require.NoError(t, os.WriteFile(path, seen, 0o600))
	return path, m
}

// run runs ffmpeg or ffprobe, which must not complain.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%s %v: %v\n%s", name, args, err, stderr.String())
	}
	return stdout.String()
}

type stream struct {
	Kind     string `json:"codec_type"`
	Start    string `json:"start_time"`
	Duration string
	Frames   string `json:"nb_read_frames"`
}

// probe decodes a file and returns what ffprobe says of it.
func probe(t testing.TB, path string) (duration float64, video, audio stream) {
	t.Helper()
	var v struct {
		Format  struct{ Duration string }
		Streams []stream
	}
	out := run(t, "ffprobe", "-v", "warning", "-count_frames", "-show_format", "-show_streams", "-of", "json", path)
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	for _, s := range v.Streams {
		if s.Kind == "video" {
			video = s
		} else {
			audio = s
		}
	}
	duration, err := strconv.ParseFloat(v.Format.Duration, 64)
	require.NoError(t, err)
	return duration, video, audio
}

func number(t testing.TB, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return n
}

// secondAt returns the second that the clock shows after a seek.
func secondAt(t testing.TB, path, at string) int {
	t.Helper()
	out := run(t, "ffmpeg", "-v", "error", "-nostdin", "-ss", at, "-i", path, "-map", "0:v", "-frames:v", "1",
		"-vf", "scale=8:1:flags=area", "-pix_fmt", "gray", "-f", "rawvideo", "-")
	require.Len(t, out, 8)
	second := 0
	for bit := range 8 {
		if out[bit] > 128 {
			second += 1 << bit
		}
	}
	return second
}

// TestTheSample: all frames, nothing else, and the index before the media.
func TestTheSample(t *testing.T) {
	t.Parallel()
	sample := moduleroot.Path(t, "sample.mp4")
	path, m := write(t, recordingtest.Part{Clip: recordingtest.Clip{File: sample}})
	duration, video, audio := probe(t, path)
	require.InDelta(t, m.Length().Seconds(), duration, 0.001)
	_, original, _ := probe(t, sample)
	require.Equal(t, original.Frames, video.Frames)
	require.InDelta(t, 0, number(t, video.Start), 0.0001)
	require.InDelta(t, 0, number(t, audio.Start), 0.025, "sound and picture start together")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Less(t, bytes.Index(data, []byte("moov")), bytes.Index(data, []byte("mdat")))
}

// TestTakes: the times of later takes follow those of earlier ones, however their timestamps begin.
func TestTakes(t *testing.T) {
	t.Parallel()
	for name, continued := range map[string]bool{"timestamps continue": true, "timestamps restart": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, m := write(t,
				recordingtest.Part{Clip: recordingtest.Clip{Seconds: 10, BFrames: 2}},
				recordingtest.Part{Clip: recordingtest.Clip{Seconds: 9, From: 10}, NewTake: true, Continued: continued})
			duration, video, audio := probe(t, path)
			require.InDelta(t, m.Length().Seconds(), duration, 0.001)
			require.InDelta(t, m.Length().Seconds(), number(t, video.Duration), 0.001)
			require.Equal(t, "190", video.Frames)
			require.InDelta(t, 19*48000/1024, number(t, audio.Frames), 4)
			for _, at := range []int{0, 1, 5, 9, 11, 14, 18} {
				require.Equal(t, at, secondAt(t, path, strconv.Itoa(at)+".5"))
			}
		})
	}
}

// TestAChangedSize: each size has a sample entry of its own, and its parameter sets in key pictures.
func TestAChangedSize(t *testing.T) {
	t.Parallel()
	for name, bare := range map[string]bool{"parameter sets in pictures": false, "only in sample entries": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, m := write(t,
				recordingtest.Part{Clip: recordingtest.Clip{Seconds: 10}, Bare: bare},
				recordingtest.Part{Clip: recordingtest.Clip{Seconds: 9, From: 10, Size: "320x180"}, Bare: bare})
			duration, video, _ := probe(t, path)
			require.InDelta(t, m.Length().Seconds(), duration, 0.001)
			require.Equal(t, "190", video.Frames)
			keys := run(t, "ffprobe", "-v", "warning", "-select_streams", "v", "-skip_frame", "nokey", "-show_entries", "frame=pts_time", "-of", "csv=p=0", path)
			require.Len(t, strings.Fields(keys), 10)
			for _, at := range []int{0, 9, 10, 18} {
				require.Equal(t, at, secondAt(t, path, strconv.Itoa(at)+".5"))
			}
		})
	}
}

// TestPartsWithoutPictures: the last picture stays, or the first one comes later.
func TestPartsWithoutPictures(t *testing.T) {
	t.Parallel()
	path, m := write(t,
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 4, Blind: true}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 8, From: 4}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 4, From: 12, Blind: true}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 8, From: 16}})
	duration, video, _ := probe(t, path)
	require.InDelta(t, m.Length().Seconds(), duration, 0.001)
	require.Equal(t, "160", video.Frames)
	for _, at := range []int{5, 11, 17, 23} {
		require.Equal(t, at, secondAt(t, path, strconv.Itoa(at)+".7"))
	}
}

func TestSoundAlone(t *testing.T) {
	t.Parallel()
	path, m := write(t,
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 10, Blind: true}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 5, Blind: true, SampleRate: 44100}, NewTake: true})
	duration, _, audio := probe(t, path)
	require.InDelta(t, m.Length().Seconds(), duration, 0.001)
	require.InDelta(t, 10*48000/1024+5*44100/1024, number(t, audio.Frames), 4)
}

// TestDamage: a missing or torn file is an error, and no file that ends early.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := recordingtest.Make(t, dir, "rec_1", recordingtest.Part{Clip: recordingtest.Clip{Seconds: 8}})
	files := folder{dir: filepath.Join(dir, "recordings", "rec_1")}
	prepare := func() error {
		f, err := mp4file.Prepare(t.Context(), files, &m)
		if err == nil {
			err = f.WriteTo(t.Context(), io.Discard)
		}
		return err
	}
	require.NoError(t, prepare())
	name := filepath.Join(files.dir, "1-2-v.m4s")
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, cut := range []int{0, 5, 60, len(whole) / 2, len(whole) - 1} {
		require.NoError(t, os.WriteFile(name, whole[:cut], 0o600))
		require.Error(t, prepare(), "%d bytes", cut)
	}
	require.NoError(t, os.Remove(name))
	require.ErrorIs(t, prepare(), os.ErrNotExist)
	_, err = mp4file.Prepare(t.Context(), files, &vod.Media{})
	require.ErrorIs(t, err, mp4file.ErrEmpty)
}

func BenchmarkPrepare(b *testing.B) {
	dir := b.TempDir()
	m := recordingtest.Make(b, dir, "rec_1", recordingtest.Part{Clip: recordingtest.Clip{Seconds: 20}})
	files := folder{dir: filepath.Join(dir, "recordings", "rec_1")}
	begun := time.Now()
	for b.Loop() {
		f, err := mp4file.Prepare(b.Context(), files, &m)
		require.NoError(b, err)
		require.NoError(b, f.WriteTo(b.Context(), io.Discard))
	}
	b.ReportMetric(m.Length().Seconds()*float64(b.N)/time.Since(begun).Seconds(), "recorded-s/s")
}
