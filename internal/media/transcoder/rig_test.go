package transcoder_test

import (
	"bytes"
	"context"
	"encoding/binary"
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
	"go.uber.org/goleak"

	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/transcoder"
	"showfloor/internal/testkit/recordingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs ffmpeg or ffprobe, which must not complain, and returns its output.
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

// flashes makes an MP4 file: in each period of 2 s, the picture is white and a tone sounds from 1.0 to 1.2 s. It has B-frames.
func flashes(t testing.TB, size string, seconds int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source.mp4")
	length := strconv.Itoa(seconds)
	run(t, "ffmpeg", "-v", "error", "-nostdin",
		"-f", "lavfi", "-i", "color=black:size="+size+":rate=30:duration="+length+",geq=lum='16+200*between(mod(T,2),0.99,1.19)':cb=128:cr=128",
		"-f", "lavfi", "-i", "aevalsrc='0.5*sin(2000*PI*t)*between(mod(t,2),1,1.2)':s=44100:d="+length,
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-bf", "2", "-g", "50", "-c:a", "aac", "-movflags", "+faststart", path)
	return path
}

// read returns a file's contents.
func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// transcode runs a job with a folder of its own.
func transcode(t testing.TB, j transcoder.Job) ([]transcoder.File, error) {
	t.Helper()
	j.Folder = t.TempDir()
	return transcoder.New().Run(t.Context(), j)
}

// folder has a recording's files.
type folder string

func (f folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(f), name))
}

// recorded returns the MP4 file of a recording as a job's source.
func recorded(t testing.TB, parts ...recordingtest.Part) transcoder.Job {
	t.Helper()
	dir := t.TempDir()
	m := recordingtest.Make(t, dir, "rec_1", parts...)
	f, err := mp4file.Prepare(t.Context(), folder(filepath.Join(dir, "recordings", "rec_1")), &m)
	require.NoError(t, err)
	r := f.Reader(t.Context())
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return transcoder.Job{Source: r, Length: f.Duration(), HasVideo: true, HasAudio: true}
}

// track is what ffprobe says about a track.
type track struct {
	Codec    string `json:"codec_name"`
	Tag      string `json:"codec_tag_string"`
	Profile  string
	Pixels   string `json:"pix_fmt"`
	Aspect   string `json:"sample_aspect_ratio"`
	Width    int
	Height   int
	Rate     string `json:"sample_rate"`
	Channels int
	Start    string `json:"start_time"`
	Frames   string `json:"nb_read_frames"`
}

// probe decodes a file and returns its tracks.
func probe(t testing.TB, path string) (video, audio *track) {
	t.Helper()
	var v struct {
		Streams []*struct {
			track

			Kind string `json:"codec_type"`
		}
	}
	out := run(t, "ffprobe", "-v", "warning", "-count_frames", "-show_streams", "-of", "json", path)
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	for _, s := range v.Streams {
		if s.Kind == "video" {
			video = &s.track
		} else {
			audio = &s.track
		}
	}
	return video, audio
}

// frames returns the presentation times of pictures in seconds, all or only key frames.
func frames(t testing.TB, path string, keys bool) (times []float64) {
	t.Helper()
	skip := "none"
	if keys {
		skip = "nokey"
	}
	out := run(t, "ffprobe", "-v", "error", "-select_streams", "v", "-skip_frame", skip, "-show_entries", "frame=pts_time", "-of", "csv=p=0", path)
	for line := range strings.Lines(out) {
		if text := strings.Trim(line, ",\n"); text != "" {
			times = append(times, number(t, text))
		}
	}
	return times
}

func number(t testing.TB, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return n
}

// marks returns the times at which the picture becomes white and at which a tone begins, in seconds as a player shows them.
func marks(t testing.TB, path string) (pictures, tones []float64) {
	t.Helper()
	light := run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-map", "0:v", "-vf", "fps=100:start_time=0,format=gray,crop=iw/2:ih/2,scale=1:1:flags=area",
		"-f", "rawvideo", "-")
	white := false
	for i, y := range []byte(light) {
		if now := y > 128; now != white {
			if white = now; now {
				pictures = append(pictures, float64(i)/100)
			}
		}
	}
	sound := run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-map", "0:a", "-af", "aresample=8000:async=1:first_pts=0,aformat=channel_layouts=mono",
		"-f", "s16le", "-")
	last := -8000
	for i := 0; i+1 < len(sound); i += 2 {
		x := int16(binary.LittleEndian.Uint16([]byte(sound[i : i+2])))
		if x > 3000 || x < -3000 {
			if i/2-last > 4000 {
				tones = append(tones, float64(i/2)/8000)
			}
			last = i / 2
		}
	}
	return pictures, tones
}

// inSync requires that each of n flashes comes with its tone, and at its time.
func inSync(t testing.TB, path string, n int) {
	t.Helper()
	pictures, tones := marks(t, path)
	require.Len(t, pictures, n)
	require.Len(t, tones, n)
	for i := range n {
		require.InDelta(t, tones[i], pictures[i], 0.045, "flash %d", i)
		require.InDelta(t, float64(2*i+1), pictures[i], 0.1)
	}
}

// within requires a measured bitrate near the requested one.
func within(t testing.TB, requested, measured int) {
	t.Helper()
	require.InDelta(t, requested, measured, float64(requested)/4)
}

const second = time.Second
