package recorder_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/recorder"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a storage in a folder and the rows of a database, as a recorder sees them. It can be out of order.
type store struct {
	dir string

	mu       sync.Mutex
	takes    map[string]int // by recording
	closed   map[recorder.TakeID]string
	open     []recorder.OpenTake
	inits    map[recorder.TakeID][]recorder.Init
	segments map[recorder.TakeID][]recorder.Segment
	ended    map[string]string // recordings, with the reason
	broken   error             // of each call of PutFile
	refused  bool              // OpenTake returns ErrEnded
	deaf     bool              // the first answer of OpenTake is lost
	stored   int64             // bytes of segments
}

func newStore(t testing.TB) *store {
	t.Helper()
	return &store{dir: t.TempDir(), takes: map[string]int{}, closed: map[recorder.TakeID]string{}, ended: map[string]string{},
		inits: map[recorder.TakeID][]recorder.Init{}, segments: map[recorder.TakeID][]recorder.Segment{}}
}

func (s *store) OpenTake(_ context.Context, recordingID, key string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused {
		return 0, recorder.ErrEnded
	}
	for _, x := range s.open {
		if x.RecordingID == recordingID && x.Key == key {
			return x.Take, nil
		}
	}
	s.takes[recordingID]++
	s.open = append(s.open, recorder.OpenTake{TakeID: take(recordingID, s.takes[recordingID]), Key: key})
	if s.deaf {
		s.deaf = false
		return 0, errors.New("the answer is lost")
	}
	return s.takes[recordingID], nil
}

func (s *store) SaveSegments(_ context.Context, id recorder.TakeID, inits []recorder.Init, segments []recorder.Segment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, closed := s.closed[id]; closed {
		return recorder.ErrEnded
	}
	s.inits[id] = append(s.inits[id], inits...)
	s.segments[id] = append(s.segments[id], segments...)
	for _, x := range segments {
		s.stored += x.VideoBytes + x.AudioBytes
	}
	return nil
}

func (s *store) CloseTake(_ context.Context, id recorder.TakeID, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, closed := s.closed[id]; !closed {
		s.closed[id] = reason
	}
	return nil
}

func (s *store) EndRecording(_ context.Context, recordingID, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[recordingID] = reason
	return nil
}

func (s *store) Beat(_ context.Context, list []recorder.TakeID) (closed []recorder.TakeID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range list {
		if _, is := s.closed[id]; is {
			closed = append(closed, id)
		}
	}
	return closed, nil
}

func (s *store) OpenTakes(context.Context) (list []recorder.OpenTake, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.open {
		if _, is := s.closed[x.TakeID]; !is {
			list = append(list, x)
		}
	}
	return list, nil
}

func (s *store) PutFile(_ context.Context, key, path string) (int64, error) {
	s.mu.Lock()
	broken := s.broken
	s.mu.Unlock()
	if broken != nil {
		return 0, broken
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	to := filepath.Join(s.dir, key)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, err
	}
	return int64(len(content)), os.WriteFile(to, content, 0o600)
}

// fail makes the storage refuse every file; nil mends it.
func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func (s *store) isClosed(id recorder.TakeID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.closed[id]
	return is
}

func (s *store) list(id recorder.TakeID) []recorder.Segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]recorder.Segment(nil), s.segments[id]...)
}

// rig is a hub whose streams a recorder can write.
type rig struct {
	t        testing.TB
	store    *store
	spool    string
	hub      *hub.Hub
	recorder *recorder.Recorder
	pushed   []int64 // sizes of units
}

func newRig(t testing.TB, s *store, spool string, change ...func(*recorder.Config)) *rig {
	t.Helper()
	r := &rig{t: t, store: s, spool: spool}
	c := recorder.Config{Dir: spool, Reports: s, Files: s, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Stream: func(id string) (*hub.Stream, bool) { return r.hub.Stream(id) }}
	for _, fn := range change {
		fn(&c)
	}
	r.recorder = recorder.New(c)
	require.NoError(t, r.recorder.Recover(t.Context()))
	r.hub = hub.New(hub.Config{Outputs: []hub.Output{r.recorder}})
	t.Cleanup(func() { r.stop(10 * time.Second) })
	return r
}

// stop ends the hub and the recorder, which may try to store its files for a time.
func (r *rig) stop(patience time.Duration) {
	r.t.Helper()
	r.hub.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), patience)
	defer cancel()
	require.NoError(r.t, r.recorder.Close(ctx))
}

func (r *rig) publish(stream string, record bool) *hub.Publisher {
	r.t.Helper()
	p, err := r.hub.Publish(hub.Broadcast{StreamID: stream, Record: record, ReconnectWindow: time.Minute}, "publisher", nil)
	require.NoError(r.t, err)
	return p
}

// write writes units, and waits whenever the recorder is far behind.
func (r *rig) write(p *hub.Publisher, units []*hub.Unit) {
	r.t.Helper()
	const atOnce, behind = 150, 400
	for i, u := range units {
		require.NoError(r.t, p.Write(u))
		r.pushed = append(r.pushed, int64(len(u.Data)))
		if n := len(r.pushed) - behind; i%atOnce == atOnce-1 && n > 0 {
			read := int64(0)
			for _, size := range r.pushed[:n] {
				read += size
			}
			until(r.t, "the recorder to read", func() bool {
				r.store.mu.Lock()
				defer r.store.mu.Unlock()
				return r.store.stored+r.recorder.Stats().SpoolBytes >= read || len(r.recorder.Recording()) == 0
			})
		}
	}
}

func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 30*time.Second, 5*time.Millisecond, "waited for %s", what)
}

func take(recordingID string, n int) recorder.TakeID {
	return recorder.TakeID{RecordingID: recordingID, Take: n}
}

// play decodes the stored files of a take's track with ffmpeg, which must not complain, and returns the number of frames
// and their total duration.
func (s *store) play(t *testing.T, id recorder.TakeID, track string) (frames int, duration time.Duration) {
	t.Helper()
	var file []byte
	init := 0
	for _, x := range s.list(id) {
		if x.Init != init {
			require.Zero(t, init, "one initialization section")
			init = x.Init
			file = append(file, s.read(t, id, "init"+strconv.Itoa(init)+"-"+track+".mp4")...)
		}
		file = append(file, s.read(t, id, strconv.Itoa(x.Number)+"-"+track+".m4s")...)
	}
	return probe(t, file)
}

func (s *store) read(t *testing.T, id recorder.TakeID, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, "recordings", id.RecordingID, strconv.Itoa(id.Take)+"-"+name))
	require.NoError(t, err)
	return content
}

// probe decodes a file.
func probe(t *testing.T, file []byte) (frames int, duration time.Duration) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.mp4")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	faults, err := exec.Command("ffmpeg", "-v", "warning", "-nostdin", "-err_detect", "explode", "-i", path,
		"-fps_mode", "passthrough", "-enc_time_base", "-1", "-f", "null", "-").CombinedOutput()
	require.NoError(t, err, "%s", faults)
	require.Empty(t, string(faults))
	out, err := exec.Command("ffprobe", "-v", "error", "-show_entries", "packet=dts_time,duration_time", "-of", "csv=p=0", path).Output()
	require.NoError(t, err)
	first, end, usual := math.Inf(1), 0.0, 0.0
	for line := range strings.Lines(string(out)) {
		at, length, _ := strings.Cut(strings.TrimSpace(line), ",")
		start, err := strconv.ParseFloat(at, 64)
		require.NoError(t, err)
		if d, err := strconv.ParseFloat(length, 64); err == nil {
			usual = d // ffprobe doesn't know each one's
		}
		first, end = min(first, start), max(end, start+usual)
		frames++
	}
	return frames, time.Duration((end - first) * float64(time.Second))
}

// clip is 20 s of a usual encoder.
func clip(t *testing.T) []*hub.Unit {
	t.Helper()
	return cliptest.Shifted(cliptest.Clip(t, cliptest.Spec{Seconds: 20, FPS: "30", GOP: 60, BFrames: 2, Rate: 48000, Stereo: true}), 0, time.Millisecond)
}
