package sfu_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/sfu/sfutest"
)

const encoderFPS = 25

// encoder is an ffmpeg process that publishes to the hub in real time.
type encoder struct {
	sent, keys atomic.Int64
}

// onAir publishes a stream with a key frame after every so many frames.
func (s *studio) onAir(t *testing.T, every int) *encoder {
	t.Helper()
	p, err := s.hub.Publish(hub.Broadcast{StreamID: "sess_1"}, "encoder", nil)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-re", "-f", "lavfi",
		"-i", "testsrc=size=640x360:rate="+strconv.Itoa(encoderFPS), "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency",
		"-pix_fmt", "yuv420p", "-g", strconv.Itoa(every), "-bf", "0", "-b:v", "1500k",
		"-x264-params", "aud=1:sliced-threads=0:threads=1:scenecut=0", "-flush_packets", "1", "-f", "h264", "pipe:1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	e := &encoder{}
	var work sync.WaitGroup
	work.Go(func() { e.publish(p, out) })
	t.Cleanup(func() {
		work.Wait()
		_ = cmd.Wait() // killed with the test's context
	})
	return e
}

// publish makes units from an H.264 stream with start codes (Annex B). Each picture begins with an
// access unit delimiter.
func (e *encoder) publish(p *hub.Publisher, out io.Reader) {
	in := bufio.NewScanner(out)
	in.Buffer(nil, 1<<20)
	in.Split(func(data []byte, _ bool) (int, []byte, error) {
		if i := bytes.Index(data, []byte{0, 0, 1}); i >= 0 {
			return i + 3, bytes.TrimRight(data[:i], "\x00"), nil
		}
		return 0, nil, nil
	})
	track, u := &hub.Track{Codec: hub.H264, Width: 640, Height: 360}, (*hub.Unit)(nil)
	for in.Scan() {
		nal := bytes.Clone(in.Bytes())
		if len(nal) == 0 {
			continue
		}
		switch nal[0] & 0x1F {
		case 9:
			if u != nil && p.Write(u) != nil {
				return
			}
			if u != nil && u.Key {
				e.keys.Add(1)
			}
			at := time.Duration(e.sent.Add(1)) * time.Second / encoderFPS
			u = &hub.Unit{Track: track, DTS: at, PTS: at}
		case 7:
			track.SPS = nal
		case 8:
			track.PPS = nal
		default:
			u.Key = u.Key || nal[0]&0x1F == 5
			u.Data = append(binary.BigEndian.AppendUint32(u.Data, uint32(len(nal))), nal...)
		}
	}
}

// after waits until so many pictures have been sent.
func (e *encoder) after(t *testing.T, pictures int64) {
	t.Helper()
	eventually(t, "pictures of the encoder", func() bool { return e.sent.Load() >= pictures })
}

// arrivals holds when the pictures of a stream arrived, by their contents.
type arrivals struct {
	mu   sync.Mutex
	seen map[string]arrival
}

type arrival struct {
	timestamp uint32
	at        time.Time
}

func (a *arrivals) note(_ string, p *rtp.Packet, at time.Time) {
	if !p.Marker {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[string]arrival{}
	}
	a.seen[string(p.Payload)] = arrival{p.Timestamp, at}
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.seen)
}

// record joins a room and records the arrivals.
func (s *studio) record(t *testing.T, user string) (*sfutest.Client, *arrivals) {
	t.Helper()
	a := &arrivals{}
	o := s.options(t, user)
	o.Packet = a.note
	return sfutest.Join(t, o), a
}

// TestAloneLateViewerIsAsCloseAsTheOthers: the encoder's key frames are 10 s apart. A viewer that joins
// up to a second after one, also the very first viewer, sees video before the next one. Five
// seconds later the late viewer receives each picture at the same time as the first one, with the
// same timestamp.
func TestAloneLateViewerIsAsCloseAsTheOthers(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	e := s.onAir(t, 10*encoderFPS)
	e.after(t, encoderFPS/2)
	_, first := s.record(t, "ada:viewer")
	eventually(t, "the picture for the first viewer", func() bool { return first.count() > 0 })
	require.EqualValues(t, 1, e.keys.Load(), "before the next key frame")
	_, late := s.record(t, "bob:viewer")
	eventually(t, "the picture for the late viewer", func() bool { return late.count() > 0 })
	require.EqualValues(t, 1, e.keys.Load(), "before the next key frame")
	e.after(t, e.sent.Load()+5*encoderFPS)
	from := time.Now()
	e.after(t, e.sent.Load()+encoderFPS)
	first.mu.Lock()
	late.mu.Lock()
	defer first.mu.Unlock()
	defer late.mu.Unlock()
	var behind []time.Duration
	for picture, x := range late.seen {
		y, both := first.seen[picture]
		if both && x.at.After(from) {
			require.Equal(t, y.timestamp, x.timestamp, "it is played when the others play it")
			behind = append(behind, x.at.Sub(y.at))
		}
	}
	require.Greater(t, len(behind), encoderFPS/2)
	slices.Sort(behind)
	t.Logf("behind the first viewer after 5 s: median %v, at most %v", behind[len(behind)/2], behind[len(behind)-1])
	require.Less(t, behind[len(behind)/2], time.Second/encoderFPS)
}

// TestAViewerPlaysHLSUntilTheNextKeyFrame: the last key frame is too long ago.
func TestAViewerPlaysHLSUntilTheNextKeyFrame(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	e := s.onAir(t, 5*encoderFPS)
	e.after(t, 3*encoderFPS)
	viewer, seen := s.record(t, "ada:viewer")
	viewer.Expect(t, "the fallback", func(m sfutest.Message) bool {
		return m.Type == "fallback" && m.Fallback != nil && m.Fallback.Code == "waiting_for_key_frame"
	})
	require.Zero(t, seen.count())
	viewer.Expect(t, "its end", func(m sfutest.Message) bool { return m.Type == "fallback" && m.Fallback == nil })
	eventually(t, "the picture", func() bool { return seen.count() > 0 })
}
