package hub

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	picture = &Track{Codec: H264, Width: 1280, Height: 720}
	sound   = &Track{Codec: AAC, SampleRate: 48000}
)

// recorder is an output that records units until the stream is sealed.
type recorder struct {
	opened chan *Stream
	mu     sync.Mutex
	units  []*Unit
	ended  int
}

func newRecorder() *recorder { return &recorder{opened: make(chan *Stream, 1000)} }

func (r *recorder) Open(s *Stream) {
	done := s.Hold()
	reader := s.Subscribe()
	r.opened <- s
	go func() {
		defer done()
		defer reader.Close()
		for {
			u, err := reader.Next(context.Background())
			r.mu.Lock()
			if err != nil {
				r.ended++
				r.mu.Unlock()
				return
			}
			r.units = append(r.units, u)
			r.mu.Unlock()
		}
	}()
}

func (r *recorder) count() (units, ended int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.units), r.ended
}

// kicks collects the reasons for which publishers are kicked.
type kicks chan error

func (k kicks) kick(reason error) { k <- reason }

func publish(t *testing.T, h *Hub, b Broadcast, id string) (*Publisher, kicks) {
	t.Helper()
	k := make(kicks, 2)
	p, err := h.Publish(b, id, k.kick)
	if err != nil {
		t.Fatal(err)
	}
	return p, k
}

func send(t *testing.T, p *Publisher, track *Track, key bool, bytes int) {
	t.Helper()
	if err := p.Write(&Unit{Track: track, Key: key, Data: make([]byte, bytes)}); err != nil {
		t.Fatal(err)
	}
}

func TestSealingWaitsForOutputs(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	h := New(Config{Outputs: []Output{r}})
	p, _ := publish(t, h, Broadcast{StreamID: "a"}, "p")
	for range 100 {
		send(t, p, picture, true, 10)
	}
	p.Close()
	if units, ended := r.count(); units != 100 || ended != 1 {
		t.Errorf("%d units and %d ends when Close returned", units, ended)
	}
	select {
	case <-p.Stream().sealed:
	default:
		t.Error("not sealed")
	}
	if _, there := h.Stream("a"); there {
		t.Error("a sealed stream is still listed")
	}
	if err := p.Write(&Unit{Track: picture}); !errors.Is(err, ErrStopped) {
		t.Errorf("a write after the end: %v", err)
	}
	if _, err := p.Stream().Subscribe().Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("a reader of a sealed stream: %v", err)
	}
	p.Close()
}

func TestTakeover(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	h := New(Config{Outputs: []Output{r}})
	first, kicked := publish(t, h, Broadcast{StreamID: "a"}, "one")
	send(t, first, picture, true, 10)
	send(t, first, sound, true, 10)
	second, _ := publish(t, h, Broadcast{StreamID: "a"}, "two")
	if reason := <-kicked; !errors.Is(reason, ErrReplaced) {
		t.Errorf("kicked with %v", reason)
	}
	if first.Stream() != second.Stream() || len(r.opened) != 1 {
		t.Error("a takeover is no new stream")
	}
	if err := first.Write(&Unit{Track: picture}); !errors.Is(err, ErrReplaced) {
		t.Errorf("the old one writes: %v", err)
	}
	first.Close() // does nothing
	if st := second.Stream().Stats(); !st.Publishing || st.AudioCodec != "" || st.VideoCodec != "" {
		t.Errorf("%+v; what the old one sent says nothing of the new one", st)
	}
	send(t, second, picture, true, 10)
	second.Discontinuity()
	send(t, second, picture, true, 10)
	second.Close()
	var epochs []uint32
	for _, u := range r.units {
		epochs = append(epochs, u.Epoch)
	}
	if len(epochs) != 4 || epochs[0] != epochs[1] || epochs[2] <= epochs[1] || epochs[3] <= epochs[2] {
		t.Errorf("epochs %v", epochs)
	}
}

func TestStopGivesThePublisherTheReason(t *testing.T) {
	t.Parallel()
	h := New(Config{Outputs: []Output{newRecorder()}})
	p, kicked := publish(t, h, Broadcast{StreamID: "a", ReconnectWindow: time.Hour}, "p")
	reason := errors.New("the tenant is suspended")
	h.Stop("a", reason)
	h.Stop("nobody", reason)
	if got := <-kicked; !errors.Is(got, reason) {
		t.Errorf("kicked with %v", got)
	}
	if err := p.Write(&Unit{Track: picture}); !errors.Is(err, reason) {
		t.Errorf("a write says %v", err)
	}
}

func TestReconnectWindow(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	h := New(Config{Outputs: []Output{r}})
	b := Broadcast{StreamID: "a", ReconnectWindow: time.Hour}
	p, _ := publish(t, h, b, "one")
	s := p.Stream()
	p.Close()
	if s.Stats().Publishing {
		t.Error("publishing without a publisher")
	}
	again, _ := publish(t, h, b, "two")
	if again.Stream() != s {
		t.Error("the stream should wait for its publisher")
	}
	s.expire() // the timer had fired at that moment
	send(t, again, picture, true, 1)
	again.Close()
	s.expire()
	<-s.sealed
	h.Close()
	if _, ended := r.count(); ended != 1 {
		t.Errorf("%d ends", ended)
	}
}

func TestCloseRefusesPublishers(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	h := New(Config{Outputs: []Output{r}})
	_, a := publish(t, h, Broadcast{StreamID: "a"}, "p")
	_, b := publish(t, h, Broadcast{StreamID: "b"}, "q")
	h.Close()
	if x, y := <-a, <-b; !errors.Is(x, ErrClosed) || !errors.Is(y, ErrClosed) {
		t.Errorf("kicked with %v and %v", x, y)
	}
	if _, err := h.Publish(Broadcast{StreamID: "c"}, "r", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("published after Close: %v", err)
	}
	if _, ended := r.count(); ended != 2 || len(h.Streams()) != 0 {
		t.Errorf("%d outputs ended, %d streams left", ended, len(h.Streams()))
	}
}

func TestPlayableIsReportedOncePerPublisher(t *testing.T) {
	t.Parallel()
	var calls []string
	h := New(Config{OnPlayable: func(stream, publisher string) { calls = append(calls, stream+"/"+publisher) }})
	b := Broadcast{StreamID: "a"}
	first, _ := publish(t, h, b, "one")
	first.Discontinuity()
	s := first.Stream()
	s.Playable(1)
	s.Playable(2)
	second, _ := publish(t, h, b, "two")
	s.Playable(2) // still the first one's media
	s.Playable(3)
	s.Playable(3)
	second.Close()
	s.Playable(3)
	if len(calls) != 2 || calls[0] != "a/one" || calls[1] != "a/two" {
		t.Errorf("%v", calls)
	}
}

func TestSlowReaderLosesUpToAKeyFrame(t *testing.T) {
	t.Parallel()
	h := New(Config{})
	p, _ := publish(t, h, Broadcast{StreamID: "a"}, "p")
	r := p.Stream().Subscribe()
	defer r.Close()
	send(t, p, picture, true, 1)
	for range queueUnits { // the last one is too many
		send(t, p, picture, false, 1)
	}
	send(t, p, picture, false, 1)
	send(t, p, sound, true, 1)
	send(t, p, picture, true, 7)
	send(t, p, sound, true, 8)
	for _, want := range []int{7, 8} {
		u, err := r.Next(t.Context())
		if err != nil || len(u.Data) != want {
			t.Fatalf("%+v %v, want %d bytes", u, err, want)
		}
	}
	// By bytes.
	send(t, p, picture, true, queueBytes-Overhead)
	send(t, p, picture, false, 1)
	send(t, p, picture, true, 9)
	if u, err := r.Next(t.Context()); err != nil || len(u.Data) != 9 {
		t.Errorf("%d bytes, %v", len(u.Data), err)
	}
	p.Close()
}

// TestQuietUnitsDoNotWakeTheReader checks which units wake a waiting reader: the others stay in the queue until then.
func TestQuietUnitsDoNotWakeTheReader(t *testing.T) {
	t.Parallel()
	h := New(Config{})
	p, _ := publish(t, h, Broadcast{StreamID: "a"}, "p")
	defer p.Close()
	r := p.Stream().Subscribe()
	defer r.Close()
	epoch := p.Stream().epoch
	other := &Track{Codec: H264}
	quiet := func() Quiet { return Quiet{Video: picture, Epoch: epoch, Until: time.Second} }
	for name, u := range map[string]Unit{
		"a late picture": {Track: picture, DTS: time.Second}, "a key picture": {Track: picture, Key: true},
		"another track": {Track: other}, "": {},
	} {
		send(t, p, picture, false, 1)
		send(t, p, sound, true, 2)
		want := []int{1, 2}
		if name != "" {
			u.Data = make([]byte, 3)
			if err := p.Write(&u); err != nil {
				t.Fatal(err)
			}
			want = append(want, 3)
		}
		for _, n := range want {
			if got, err := r.NextOrTick(t.Context(), time.Hour, quiet); err != nil || len(got.Data) != n {
				t.Fatalf("%s: %+v %v, want %d bytes", name, got, err, n)
			}
		}
	}
	if !quiet().Includes(&Unit{Track: sound, Key: true, Epoch: epoch}) || quiet().Includes(&Unit{Track: sound, Epoch: epoch + 1}) {
		t.Error("audio wakes the reader only in a new epoch")
	}

	// A unit that doesn't wake it comes with the next tick.
	send(t, p, picture, false, 5)
	if u, err := r.NextOrTick(t.Context(), time.Hour, quiet); err != nil || len(u.Data) != 5 {
		t.Errorf("%+v %v", u, err)
	}
	ticks := 0
	for u := (*Unit)(nil); u == nil; ticks++ {
		if ticks == 1 {
			send(t, p, picture, false, 6)
		}
		u, _ = r.NextOrTick(t.Context(), time.Millisecond, quiet)
	}
	if ticks != 2 {
		t.Errorf("%d waits, want one without a unit and one with", ticks)
	}
}

func TestReaderEnds(t *testing.T) {
	t.Parallel()
	h := New(Config{})
	p, _ := publish(t, h, Broadcast{StreamID: "a"}, "p")
	r := p.Stream().Subscribe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	send(t, p, picture, true, 1)
	r.Close()
	r.Close()
	if _, err := r.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	send(t, p, picture, true, 1)
	p.Close()
}

func TestReaderCountsLostPictures(t *testing.T) {
	t.Parallel()
	h := New(Config{})
	p, _ := publish(t, h, Broadcast{StreamID: "a"}, "p")
	defer p.Close()
	r := p.Stream().Subscribe()
	send(t, p, picture, true, 1)
	send(t, p, sound, true, 1)
	send(t, p, picture, false, queueBytes) // exceeds the bound: the queue is lost, and this picture
	send(t, p, picture, false, 1)
	send(t, p, picture, true, 1)
	if n := r.Dropped(); n != 3 {
		t.Errorf("%d pictures lost, want 3", n)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	h := New(Config{Now: func() time.Time { return now }})
	p, _ := publish(t, h, Broadcast{StreamID: "a"}, "p")
	for range 10 {
		for range 25 {
			if err := p.Write(&Unit{Track: picture, Data: make([]byte, 500)}); err != nil { // Arrived is set by the hub
				t.Fatal(err)
			}
		}
		if err := p.Write(&Unit{Track: sound, Data: make([]byte, 1000), Arrived: now}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	s := p.Stream()
	s.AddViewers(3)
	s.AddViewers(-1)
	s.AddBytesOut(77)
	st := s.Stats()
	if st.VideoKbps != 100 || st.AudioKbps != 8 || st.FPS != 25 || st.Width != 1280 || st.Viewers != 2 {
		t.Errorf("%+v", st)
	}
	now = now.Add(time.Minute)
	if st := s.Stats(); st.VideoKbps != 0 || st.FPS != 0 {
		t.Errorf("a dead encoder: %+v", st)
	}
	if in, out := h.Traffic(); in != 135000 || out != 77 {
		t.Errorf("%d in, %d out", in, out)
	}
	// A clock before 1970 must not matter.
	if err := p.Write(&Unit{Track: picture, Data: []byte{1}, Arrived: time.Unix(-7, 0)}); err != nil {
		t.Fatal(err)
	}
	p.Close()
}

// TestConcurrentLives: publishers, readers and the owner come and go concurrently.
func TestConcurrentLives(t *testing.T) {
	t.Parallel()
	h := New(Config{Outputs: []Output{newRecorder()}, OnPlayable: func(string, string) {}})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			window := time.Duration(i%2) * time.Hour
			for n := range 40 {
				p, err := h.Publish(Broadcast{StreamID: "a", ReconnectWindow: window}, "p", func(error) {})
				if err != nil {
					return
				}
				r := p.Stream().Subscribe()
				for range 10 {
					if p.Write(&Unit{Track: picture, Key: true, Data: []byte{1}}) != nil {
						break
					}
				}
				p.Stream().Playable(1)
				_ = p.Stream().Stats()
				r.Close()
				if n%3 == 0 {
					h.Stop("a", ErrStopped)
				}
				p.Close()
			}
		})
	}
	wg.Wait()
	h.Close()
}
