package trackfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func info(id string) Info {
	return Info{ID: id, UserID: "ann", Clock: "c1", Source: "camera", MimeType: "video/VP8", ClockRate: 90_000}
}

// read returns all packets and reports of a track file.
func read(t *testing.T, path string) (packets []Packet, reports []Report) {
	t.Helper()
	r, err := Open(path)
	require.NoError(t, err)
	defer r.Close()
	for {
		p, x, err := r.Next()
		if errors.Is(err, io.EOF) {
			return packets, reports
		}
		require.NoError(t, err)
		if p != nil {
			p.Payload = bytes.Clone(p.Payload)
			packets = append(packets, *p)
		} else {
			reports = append(reports, *x)
		}
	}
}

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Unix(1000, 0).UTC()}
	dir := filepath.Join(t.TempDir(), "rec")
	w, err := Create(Config{Dir: dir, Now: c.Now})
	require.NoError(t, err)
	w.Note(Event{Kind: Joined, UserID: "ann", Name: "Ann"})
	track, err := w.Track(info("trk_a"))
	require.NoError(t, err)
	for i := range 1000 {
		c.pass(time.Millisecond)
		track.Packet(uint16(i), uint32(i)*90, i%3 == 0, bytes.Repeat([]byte{byte(i)}, i))
	}
	track.Report(1<<40, 7)
	track.Close()
	track.Packet(1, 1, false, nil)
	require.EqualValues(t, 1, w.Dropped(), "packets after the end")
	_, err = w.Track(info("trk_a"))
	require.ErrorIs(t, err, os.ErrExist)
	_, err = w.Track(info("../a"))
	require.Error(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())

	events, err := Timeline(dir)
	require.NoError(t, err)
	require.Equal(t, []Event{
		{Kind: Started, Started: time.Unix(1000, 0).UTC()}, {Kind: Joined, UserID: "ann", Name: "Ann"}, {At: time.Second, Kind: Stopped},
	}, events)
	require.Equal(t, time.Second, Length(events))
	paths, err := Tracks(dir)
	require.NoError(t, err)
	require.Len(t, paths, 1)
	packets, reports := read(t, paths[0])
	require.Len(t, packets, 1000)
	for i, p := range packets {
		require.Equal(t, Packet{
			time.Duration(i+1) * time.Millisecond, uint16(i), uint32(i) * 90, i%3 == 0, bytes.Repeat([]byte{byte(i)}, i),
		}, p)
	}
	require.Equal(t, []Report{{time.Second, 1 << 40, 7}}, reports)
}

// TestTornTail: a file that is cut anywhere, or ends in zeros, is read up to its last complete record.
func TestTornTail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := Create(Config{Dir: dir})
	require.NoError(t, err)
	track, err := w.Track(info("a"))
	require.NoError(t, err)
	for i := range 5 {
		track.Packet(uint16(i), 0, false, []byte("payload"))
	}
	require.NoError(t, w.Close())
	whole, err := os.ReadFile(filepath.Join(dir, "a.track"))
	require.NoError(t, err)
	const record = headSize + packetHead + 7
	head := len(whole) - 5*record
	for n := range whole {
		path := filepath.Join(t.TempDir(), strconv.Itoa(n))
		require.NoError(t, os.WriteFile(path, append(whole[:n:n], make([]byte, n%40)...), fileMode))
		if n < head {
			_, err := Open(path)
			require.ErrorIs(t, err, ErrEmpty)
			continue
		}
		packets, _ := read(t, path)
		require.Len(t, packets, (n-head)/record)
	}
	line, err := os.ReadFile(filepath.Join(dir, timelineName))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, timelineName), line[:len(line)-1], fileMode))
	events, err := Timeline(dir)
	require.NoError(t, err)
	require.Len(t, events, 1, "without the torn Stopped")
}

// TestFullDisk: the first error ends the recording, is reported once, and keeps what was written before.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 2)
	dir := t.TempDir()
	w, err := Create(Config{Dir: dir, MaxBytes: 100_000, Failed: func(err error) { failed <- err }})
	require.NoError(t, err)
	track, err := w.Track(info("a"))
	require.NoError(t, err)
	track.Packet(0, 0, false, make([]byte, 1000))
	path := filepath.Join(dir, "a.track")
	require.Eventually(t, func() bool {
		stored, err := os.Stat(path)
		return err == nil && stored.Size() > 1000
	}, 30*time.Second, time.Millisecond)
	sent := 1
	for len(failed) == 0 {
		track.Packet(uint16(sent), 0, false, make([]byte, 1000))
		sent++
	}
	require.ErrorIs(t, <-failed, ErrLimit)
	track.Packet(0, 0, false, nil)
	require.NotZero(t, w.Dropped())
	require.ErrorIs(t, w.Close(), ErrLimit)
	require.Empty(t, failed)
	packets, _ := read(t, path)
	require.NotEmpty(t, packets)
	require.Less(t, len(packets), 100)
}

// TestASlowDisk: while it takes nothing, the memory is bounded and further packets are dropped.
func TestASlowDisk(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w, err := Create(Config{Dir: t.TempDir(), Refuse: func() error {
		<-release
		return nil
	}})
	require.NoError(t, err)
	track, err := w.Track(info("a"))
	require.NoError(t, err)
	for range 5000 {
		track.Packet(0, 0, false, make([]byte, 1000))
	}
	require.GreaterOrEqual(t, w.Dropped(), uint64(5000-2*maxWaiting/1000))
	close(release)
	require.NoError(t, w.Close())
}

func FuzzRead(f *testing.F) {
	b := finish(append(begin(nil, kindText), `{"id":"a"}`...), 0, castagnoli())
	f.Add(b)
	f.Add(appendPacket(b, &Packet{Payload: []byte("x")}, castagnoli()))
	f.Add(appendReport(b, &Report{}, castagnoli()))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, timelineName), b, fileMode))
		_, err := Timeline(dir)
		require.NoError(t, err)
		r, err := Open(filepath.Join(dir, timelineName))
		if err != nil {
			return
		}
		defer r.Close()
		for err == nil {
			_, _, err = r.Next()
		}
		require.ErrorIs(t, err, io.EOF)
	})
}

func BenchmarkPacket(b *testing.B) {
	w, err := Create(Config{Dir: b.TempDir()})
	require.NoError(b, err)
	defer w.Close()
	track, err := w.Track(info("a"))
	require.NoError(b, err)
	payload := make([]byte, 1100)
	b.ReportAllocs()
	for i := range b.N {
		track.Packet(uint16(i), uint32(i), false, payload)
	}
	b.ReportMetric(float64(w.Dropped()), "dropped")
}
