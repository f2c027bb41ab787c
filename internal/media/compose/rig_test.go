package compose

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4/pkg/media/oggreader"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"showfloor/internal/media/trackfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ffmpeg runs ffmpeg and returns its output.
func ffmpeg(t testing.TB, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ffmpeg", append([]string{"-v", "error", "-nostdin"}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(t, err, said.String())
	return out
}

// room is a simulated room that is recorded.
type room struct {
	t       testing.TB
	actions []action
	now     time.Time
	started time.Time
	random  *rand.Rand
}

// action happens at a time of the recording.
type action struct {
	at time.Duration
	do func(w *trackfile.Writer, tracks map[string]*trackfile.Track)
}

func newRoom(t testing.TB) *room {
	t.Helper()
	start := time.Unix(1_700_000_000, 0)
	return &room{t: t, now: start, started: start, random: rand.New(rand.NewPCG(1, 2))}
}

func (r *room) do(at time.Duration, do func(*trackfile.Writer, map[string]*trackfile.Track)) {
	r.actions = append(r.actions, action{at, do})
}

func (r *room) note(at time.Duration, e trackfile.Event) {
	r.do(at, func(w *trackfile.Writer, _ map[string]*trackfile.Track) { w.Note(e) })
}

// record writes the files. It ends without Close if killed.
func (r *room) record(killed bool) (dir string) { return r.recordDuring(killed, 0, nil) }

// recordDuring does the same, and calls a function in intervals of the recording.
func (r *room) recordDuring(killed bool, every time.Duration, during func(dir string)) (dir string) {
	dir = filepath.Join(r.t.TempDir(), "recording")
	w, err := trackfile.Create(trackfile.Config{Dir: dir, Now: func() time.Time { return r.now }})
	require.NoError(r.t, err)
	slices.SortStableFunc(r.actions, func(a, b action) int { return cmp.Compare(a.at, b.at) })
	tracks := map[string]*trackfile.Track{}
	next := every
	for i, a := range r.actions {
		if during != nil && a.at >= next {
			w.Flush()
			during(dir)
			next += every
		}
		r.now = r.started.Add(a.at)
		a.do(w, tracks)
		if i%50 == 0 {
			w.Flush() // or a fast simulation fills the memory
		}
	}
	require.NoError(r.t, w.Close())
	require.Zero(r.t, w.Dropped())
	if killed {
		cutTail(r.t, dir)
	}
	return dir
}

// cutTail cuts off the last bytes of each file.
func cutTail(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		require.NoError(t, err)
		require.NoError(t, os.Truncate(path, info.Size()-3))
	}
}

// participant sends a camera and a microphone. At each full second of the recording there is a flash of 100 ms with a tone.
type participant struct {
	id, color, size, codec string
	from, to               time.Duration
	offset                 time.Duration // of its clock
	transit                time.Duration
	loss                   float64
	silent                 bool
	rareKeys               bool // only the first picture is a key picture
	garbage                bool
}

// join adds a participant to the room.
func (r *room) join(p participant) {
	r.note(p.from, trackfile.Event{Kind: trackfile.Joined, UserID: p.id, Name: "Name of " + p.id})
	length := fmt.Sprint((p.to - p.from).Seconds())
	r.track(p, "camera", "video/"+p.codec, 90_000, r.video(p, length))
	if !p.silent {
		r.track(p, "microphone", "audio/opus", 48_000, r.sound(length))
	}
	r.note(p.to, trackfile.Event{Kind: trackfile.Left, UserID: p.id})
}

// unit is an encoded picture or frame, as payloads of packets.
type unit struct {
	at       time.Duration
	payloads [][]byte
}

func (r *room) video(p participant, length string) (list []unit) {
	source := "color=" + p.color + ":size=" + p.size + ":rate=30:duration=" + length +
		",drawbox=enable='lt(mod(t,1),0.1)':color=white:t=fill"
	var payloader rtp.Payloader = &codecs.VP8Payloader{}
	args := []string{"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-auto-alt-ref", "0", "-f", "ivf"}
	switch p.codec {
	case "VP9":
		payloader = &codecs.VP9Payloader{}
		args = []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-auto-alt-ref", "0", "-lag-in-frames", "0", "-f", "ivf"}
	case "AV1":
		payloader = &codecs.AV1Payloader{}
		args = []string{"-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-lag-in-frames", "0", "-f", "ivf"}
	case "H264":
		payloader = &codecs.H264Payloader{}
		args = []string{"-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-x264-params", "aud=1:sliced-threads=0", "-f", "h264"}
	}
	gop := "60"
	if p.rareKeys {
		gop = "99999"
	}
	out := ffmpeg(r.t, append(append([]string{"-f", "lavfi", "-i", source, "-g", gop, "-pix_fmt", "yuv420p", "-b:v", "500k"}, args...), "pipe:1")...)
	var pictures [][]byte
	if p.codec == "H264" {
		pictures = bytes.Split(out, []byte("\x00\x00\x00\x01\x09"))[1:]
		for i := range pictures {
			pictures[i] = append([]byte("\x00\x00\x00\x01\x09"), pictures[i]...)
		}
	} else {
		for b := out[32:]; len(b) >= 12; {
			n := 12 + int(binary.LittleEndian.Uint32(b))
			pictures = append(pictures, b[12:n])
			b = b[n:]
		}
	}
	for i, b := range pictures {
		list = append(list, unit{time.Duration(i) * time.Second / 30, payloader.Payload(1100, b)})
	}
	return list
}

func (r *room) sound(length string) (list []unit) {
	return r.sounds("aevalsrc='if(lt(mod(t,1),0.1),sin(6283*t)/2,0)':s=48000:d=" + length)
}

// sounds encodes the sound of a filter.
func (r *room) sounds(source string) (list []unit) {
	out := ffmpeg(r.t, "-f", "lavfi", "-i", source,
		"-c:a", "libopus", "-b:a", "32k", "-application", "lowdelay", "-page_duration", "20000", "-f", "ogg", "pipe:1")
	in, _, err := oggreader.NewWith(bytes.NewReader(out))
	require.NoError(r.t, err)
	for {
		page, _, err := in.ParseNextPage()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(r.t, err)
		if !bytes.HasPrefix(page, []byte("OpusTags")) {
			list = append(list, unit{time.Duration(len(list)) * 20 * time.Millisecond, [][]byte{page}})
		}
	}
}

// track sends units with sender reports of the participant's clock.
func (r *room) track(p participant, source, mimeType string, rate uint32, units []unit) {
	id := p.id + "-" + source + strconv.Itoa(len(r.actions))
	r.do(p.from, func(w *trackfile.Writer, tracks map[string]*trackfile.Track) {
		track, err := w.Track(trackfile.Info{ID: id, UserID: p.id, Clock: p.id + p.from.String(), Source: source, MimeType: mimeType, ClockRate: rate})
		require.NoError(r.t, err)
		tracks[id] = track
		w.Note(trackfile.Event{Kind: trackfile.Published, UserID: p.id, TrackID: id, Source: source})
	})
	first, sequence := r.random.Uint32(), uint16(r.random.Uint32())
	ts := func(at time.Duration) uint32 { return first + uint32(at.Microseconds()*int64(rate)/1_000_000) }
	arrived := time.Duration(0)
	for _, u := range units {
		arrived = max(arrived, p.from+u.at+p.transit+time.Duration(r.random.ExpFloat64()*float64(3*time.Millisecond)))
		if u.at%(2*time.Second) == 0 {
			clock := r.started.Add(p.from + u.at + p.offset)
			ntp := uint64(clock.Unix()+2_208_988_800)<<32 | uint64(clock.Nanosecond())<<32/uint64(time.Second)
			r.do(arrived, func(_ *trackfile.Writer, tracks map[string]*trackfile.Track) { tracks[id].Report(ntp, ts(u.at)) })
		}
		for i, payload := range u.payloads {
			sequence++
			number := sequence
			if r.random.Float64() < p.loss {
				continue
			}
			if p.garbage {
				for n := range payload {
					payload[n] = byte(r.random.Uint32())
				}
			}
			r.do(arrived, func(_ *trackfile.Writer, tracks map[string]*trackfile.Track) {
				tracks[id].Packet(number, ts(u.at), i == len(u.payloads)-1, payload)
			})
		}
	}
	r.do(p.to+p.transit+200*time.Millisecond, func(w *trackfile.Writer, tracks map[string]*trackfile.Track) {
		tracks[id].Close()
		w.Note(trackfile.Event{Kind: trackfile.Ended, UserID: p.id, TrackID: id})
	})
}

// video is a composed recording, decoded.
type video struct {
	result        Result
	frames        [][]byte // gray
	start         float64  // time of the first picture, in seconds
	sound         []int16
	soundStart    float64
	width, height int
	path          string
}

// compose composes and decodes a recording.
func composed(t testing.TB, dir, layout string) *video {
	t.Helper()
	return composedBy(t, New(slog.New(slog.DiscardHandler)), Job{Dir: dir, Folder: t.TempDir(), Layout: layout})
}

// composedBy does the same with an engine.
func composedBy(t testing.TB, e *Engine, j Job) *video {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.flv")
	f, err := os.Create(path)
	require.NoError(t, err)
	result, err := e.Run(t.Context(), j, func(flv io.Reader) error {
		_, err := io.Copy(f, flv)
		return err
	})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	v := decode(t, path)
	v.result = result
	return v
}

// decode decodes a video.
func decode(t testing.TB, path string) *video {
	t.Helper()
	v := &video{width: 160, height: 90, path: path}
	raw := ffmpeg(t, "-i", path, "-an", "-vf", "scale=160:90", "-fps_mode", "passthrough", "-pix_fmt", "gray", "-f", "rawvideo", "pipe:1")
	for n := 0; n+160*90 <= len(raw); n += 160 * 90 {
		v.frames = append(v.frames, raw[n:n+160*90])
	}
	pcm := ffmpeg(t, "-i", path, "-vn", "-ac", "1", "-f", "s16le", "pipe:1")
	v.sound = make([]int16, len(pcm)/2)
	for i := range v.sound {
		v.sound[i] = int16(binary.LittleEndian.Uint16(pcm[2*i:]))
	}
	first := func(stream string) float64 {
		out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-select_streams", stream, "-read_intervals", "%+#1",
			"-show_entries", "packet=pts_time", "-of", "csv=p=0", path).Output()
		require.NoError(t, err)
		at, err := strconv.ParseFloat(strings.Trim(strings.TrimSpace(strings.SplitN(string(out), "\n", 2)[0]), ","), 64)
		require.NoError(t, err)
		return at
	}
	v.start, v.soundStart = first("v"), first("a")
	return v
}

// light returns the mean of an area of a picture, in pixels of 1280x720.
func (v *video) light(n int, a area) float64 {
	sum, count := 0, 0
	for y := a.y / 8; y < (a.y+a.h)/8; y++ {
		for x := a.x / 8; x < (a.x+a.w)/8; x++ {
			sum += int(v.frames[n][y*v.width+x])
			count++
		}
	}
	return float64(sum) / float64(count)
}

// flashes returns when an area becomes white.
func (v *video) flashes(a area) (list []float64) {
	was := true
	for n := range v.frames {
		is := v.light(n, a) > 170
		if is && !was {
			list = append(list, v.start+float64(n)/FrameRate)
		}
		was = is
	}
	return list
}

// tones returns when the sound begins after silence.
func (v *video) tones() (list []float64) {
	quiet := 0
	for i, x := range v.sound {
		if x > -2000 && x < 2000 {
			quiet++
			continue
		}
		if quiet > 4800 {
			list = append(list, v.soundStart+float64(i)/soundRate)
		}
		quiet = 0
	}
	return list
}

// apart returns the largest distance of a time in a to the nearest one in b.
func apart(t testing.TB, a, b []float64) (most float64) {
	t.Helper()
	require.NotEmpty(t, a)
	require.NotEmpty(t, b)
	for _, x := range a {
		nearest := 1e9
		for _, y := range b {
			nearest = min(nearest, max(x-y, y-x))
		}
		most = max(most, nearest)
	}
	return most
}
