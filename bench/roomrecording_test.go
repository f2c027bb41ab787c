package bench

import (
	"encoding/binary"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/pion/rtp/codecs"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/sfu"
	"showfloor/internal/media/trackfile"
)

// roomRecordings makes the files of one recording.
type roomRecordings struct{ dir string }

func (r roomRecordings) Begin(id string, failed func(error)) (*trackfile.Writer, error) {
	return trackfile.Create(trackfile.Config{Dir: filepath.Join(r.dir, id), Failed: failed})
}

func (roomRecordings) End(string, *trackfile.Writer, error) {}

// BenchmarkRoomRecording has four participants who receive each other, each with a camera of 1.7 Mbit/s and a microphone, and records
// them in some windows: the server's CPU time with a recording, compared with the windows without one, in turns.
func BenchmarkRoomRecording(b *testing.B) {
	const rounds = 5
	for b.Loop() {
		dir := b.TempDir()
		server, url := startSFUWith(b, func(c *sfu.Config) { c.Recordings = roomRecordings{dir} })
		c := startCrowd(b, crowdPlan{URL: url, Room: "room", Talkers: 4, Layers: []int{1_700_000}, Sound: true})
		<-time.After(5 * time.Second) // until the bandwidth estimates are steady
		var with, without, ratios []float64
		for n := range rounds {
			_, bare := c.watch(b, forwardWindow)
			id := "rec" + strconv.Itoa(n)
			server.Record("room", id)
			<-time.After(time.Second)
			_, recorded := c.watch(b, forwardWindow)
			server.StopRecording("room", id)
			<-time.After(time.Second)
			with, without = append(with, recorded.Seconds()), append(without, bare.Seconds())
			ratios = append(ratios, recorded.Seconds()/bare.Seconds())
		}
		c.stop()
		size := int64(0)
		tracks, err := trackfile.Tracks(filepath.Join(dir, "rec0"))
		require.NoError(b, err)
		for _, path := range tracks {
			info, err := os.Stat(path)
			require.NoError(b, err)
			size += info.Size()
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(size)*8/forwardWindow.Seconds()/1e6, "written-Mbit/s")
		b.ReportMetric(100*median(with)/forwardWindow.Seconds(), "core%")
		b.ReportMetric(100*median(without)/forwardWindow.Seconds(), "bare-core%")
		b.ReportMetric(median(ratios), "ratio")
	}
}

// BenchmarkCompose composes a recording of 20 s of four people with cameras of 720p in VP8. The baseline is ffmpeg alone, which puts
// the same four files into one picture with its own filters, in turns. Real time on two cores needs less than 2 core-s/s.
func BenchmarkCompose(b *testing.B) {
	const rounds, seconds, people = 3, 20, 4
	clip := makeClip(b, seconds)
	dir := recordPeople(b, picturesOf(b, clip), nil, people, seconds)
	engine := compose.New(slog.New(slog.DiscardHandler))
	// measure returns the seconds of media that are composed in a second, and the CPU time of a second of media.
	measure := func(run func()) (speed, cpu float64) {
		began, before := time.Now(), childrenCPU(b)+selfCPU(b)
		run()
		return seconds / time.Since(began).Seconds(), (childrenCPU(b) + selfCPU(b) - before).Seconds() / seconds
	}
	for b.Loop() {
		var speeds, costs, ratios []float64
		for range rounds {
			speed, cost := measure(func() {
				_, err := engine.Run(b.Context(), compose.Job{Dir: dir, Folder: b.TempDir(), Layout: compose.Grid}, func(flv io.Reader) error {
					_, err := io.Copy(io.Discard, flv)
					return err
				})
				require.NoError(b, err)
			})
			_, bare := measure(func() {
				out, err := exec.Command("nice", bareCompose(clip)...).CombinedOutput()
				require.NoError(b, err, "%s", out)
			})
			speeds, costs, ratios = append(speeds, speed), append(costs, cost), append(ratios, cost/bare)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(median(speeds), "x")
		b.ReportMetric(median(costs), "core-s/s")
		b.ReportMetric(median(ratios), "cpu-ratio")
	}
}

// makeClip makes an IVF file of a camera of 720p in VP8, with a key picture every 10 s.
func makeClip(b *testing.B, seconds int) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "camera.ivf")
	out, err := exec.Command("ffmpeg", "-loglevel", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30",
		"-t", strconv.Itoa(seconds), "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-auto-alt-ref", "0", "-g", "300",
		"-b:v", "1700k", path).CombinedOutput()
	require.NoError(b, err, "%s", out)
	return path
}

// bareCompose has the arguments of nice for a picture of four equal files.
func bareCompose(clip string) []string {
	args := []string{"-n", "15", "ffmpeg", "-loglevel", "error", "-nostdin"}
	for range 4 {
		args = append(args, "-threads", "1", "-i", clip)
	}
	return append(args, "-filter_complex", "[0]scale=640:360[a];[1]scale=640:360[b];[2]scale=640:360[c];[3]scale=640:360[d];"+
		"[a][b][c][d]xstack=inputs=4:layout=0_0|w0_0|0_h0|w0_h0", "-c:v", "libx264", "-preset", "veryfast", "-crf", "23", "-bf", "0",
		"-g", "60", "-threads", "2", "-f", "flv", "-y", "/dev/null")
}

// childrenCPU returns the CPU time of the processes that have ended.
func childrenCPU(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// recordPeople writes a recording of people who all send the pictures of an IVF file, again and again, and the frames of Opus.
func recordPeople(b *testing.B, pictures, frames [][]byte, people, seconds int) (dir string) {
	b.Helper()
	now := time.Unix(1_700_000_000, 0)
	began := now
	dir = filepath.Join(b.TempDir(), "recording")
	w, err := trackfile.Create(trackfile.Config{Dir: dir, Now: func() time.Time { return now }})
	require.NoError(b, err)
	begin := func(user, source, mimeType string, rate uint32) *trackfile.Track {
		id := source + "-" + user
		t, err := w.Track(trackfile.Info{ID: id, UserID: user, Clock: user, Source: source, MimeType: mimeType, ClockRate: rate})
		require.NoError(b, err)
		w.Note(trackfile.Event{Kind: trackfile.Published, UserID: user, TrackID: id, Source: source})
		return t
	}
	cameras, microphones := make([]*trackfile.Track, people), make([]*trackfile.Track, people)
	for i := range people {
		user := "user" + strconv.Itoa(i)
		w.Note(trackfile.Event{Kind: trackfile.Joined, UserID: user, Name: user})
		cameras[i] = begin(user, "camera", "video/VP8", 90_000)
		microphones[i] = begin(user, "microphone", "audio/opus", 48_000)
	}
	sequence, payloader := uint16(0), codecs.VP8Payloader{}
	for n := range seconds * 50 { // 20 ms
		now = began.Add(time.Duration(n) * 20 * time.Millisecond)
		if len(frames) > 0 {
			for _, t := range microphones {
				t.Packet(uint16(n), uint32(n)*960, false, frames[n%len(frames)])
			}
		}
		if picture := n * 30 / 50; len(pictures) > 0 && picture != (n-1)*30/50 {
			payloads := payloader.Payload(1150, pictures[picture%len(pictures)])
			for i, payload := range payloads {
				for _, t := range cameras {
					t.Packet(sequence, uint32(picture)*3000, i == len(payloads)-1, payload)
				}
				sequence++
			}
		}
		w.Flush()
	}
	require.NoError(b, w.Close())
	return dir
}

// picturesOf returns the pictures of an IVF file.
func picturesOf(b *testing.B, clip string) (list [][]byte) {
	b.Helper()
	raw, err := os.ReadFile(clip)
	require.NoError(b, err)
	for raw = raw[32:]; len(raw) >= 12; {
		size := 12 + int(binary.LittleEndian.Uint32(raw))
		list = append(list, raw[12:size])
		raw = raw[size:]
	}
	return list
}
