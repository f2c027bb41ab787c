package bench

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pion/webrtc/v4/pkg/media/oggreader"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/compose"
)

// makeVoice makes an Ogg file of noise in Opus, in frames of 20 ms and 32 kbit/s.
func makeVoice(b *testing.B, seconds int) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "voice.ogg")
	out, err := exec.Command("ffmpeg", "-loglevel", "error", "-nostdin", "-f", "lavfi", "-i", "anoisesrc=amplitude=0.1:color=pink",
		"-t", strconv.Itoa(seconds), "-c:a", "libopus", "-b:a", "32k", "-page_duration", "20000", path).CombinedOutput()
	require.NoError(b, err, "%s", out)
	return path
}

// framesOf returns the frames of an Ogg file with one in each page.
func framesOf(b *testing.B, path string) (list [][]byte) {
	b.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(b, err)
	in, _, err := oggreader.NewWith(bytes.NewReader(raw))
	require.NoError(b, err)
	for {
		page, _, err := in.ParseNextPage()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(b, err)
		if !strings.HasPrefix(string(page), "OpusTags") {
			list = append(list, page)
		}
	}
}

// runJob composes a recording, and returns how long that took.
func runJob(b *testing.B, engine *compose.Engine, j compose.Job) (compose.Result, time.Duration) {
	b.Helper()
	began := time.Now()
	r, err := engine.Run(b.Context(), j, func(flv io.Reader) error {
		_, err := io.Copy(io.Discard, flv)
		return err
	})
	require.NoError(b, err)
	return r, time.Since(began)
}

// BenchmarkComposeVoices mixes five minutes of four voices whose pictures are composed already; then again with a file for each voice.
// The baseline is ffmpeg alone, which mixes the same four files, in turns.
func BenchmarkComposeVoices(b *testing.B) {
	const rounds, seconds, people = 3, 300, 4
	voice := makeVoice(b, seconds)
	j := compose.Job{Dir: recordPeople(b, nil, framesOf(b, voice), people, seconds), Folder: b.TempDir(), Layout: compose.Grid}
	engine := compose.New(slog.New(slog.DiscardHandler))
	runJob(b, engine, j) // composes the pictures
	args := []string{"-n", "15", "ffmpeg", "-loglevel", "error", "-nostdin"}
	for range people {
		args = append(args, "-i", voice)
	}
	args = append(args, "-filter_complex", "amix=inputs="+strconv.Itoa(people)+":normalize=0,alimiter=level=disabled:limit=0.95",
		"-c:a", "aac", "-b:a", "128k", "-f", "flv", "-y", "/dev/null")
	for b.Loop() {
		var mixed, separate, ratios []float64
		for range rounds {
			_, took := runJob(b, engine, j)
			began := time.Now()
			out, err := exec.Command("nice", args...).CombinedOutput()
			require.NoError(b, err, "%s", out)
			ratios = append(ratios, took.Seconds()/time.Since(began).Seconds())
			mixed = append(mixed, seconds/took.Seconds())
			k := j
			k.Separate = true
			result, took := runJob(b, engine, k)
			require.Len(b, result.Voices, people)
			separate = append(separate, seconds/took.Seconds())
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(median(mixed), "x")
		b.ReportMetric(median(separate), "separate-x")
		b.ReportMetric(median(ratios), "time-ratio")
	}
}

// BenchmarkComposeRest has a recording of 150 s of four people with cameras of 720p in VP8 and sound, which was composed in advance,
// and composes the rest. From that it calculates the time from the end of a meeting of an hour to its video, in the worst case: the
// last call in advance was a minute before the end, and a piece had just begun. The baseline is a composition of the whole.
func BenchmarkComposeRest(b *testing.B) {
	const length, people = 150, 4
	const rest, worst = 30, 60 + 13 + 60 // seconds of pictures that aren't composed in advance
	dir := recordPeople(b, picturesOf(b, makeClip(b, 20)), framesOf(b, makeVoice(b, 20)), people, length)
	engine := compose.New(slog.New(slog.DiscardHandler))
	for b.Loop() {
		j := compose.Job{Dir: dir, Folder: b.TempDir(), Layout: compose.Grid}
		began := time.Now()
		done, err := engine.Advance(b.Context(), j)
		require.NoError(b, err)
		require.Equal(b, (length-rest)*time.Second, done)
		advanced := time.Since(began)
		_, withRest := runJob(b, engine, j)
		_, sound := runJob(b, engine, j)
		j.Folder = b.TempDir()
		_, whole := runJob(b, engine, j)
		hour := 3600 / float64(length)
		seconds := sound.Seconds()*hour + (withRest-sound).Seconds()/rest*worst
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(seconds, "s/hour")
		b.ReportMetric(done.Seconds()/advanced.Seconds(), "advance-x")
		b.ReportMetric(seconds/(whole.Seconds()*hour), "ratio")
	}
}
