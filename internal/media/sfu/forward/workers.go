package forward

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// batchSize is how many packets of a track a worker takes at once.
	batchSize = 256
	// tickEvery is the interval of a worker's periodic work, which no packet triggers: reports,
	// layers, probes, repeated requests for key frames.
	tickEvery = 50 * time.Millisecond
	// pictureWait is how long the packets of a picture wait for its last one. A subscriber can't
	// show the picture before that, and packets that are sent together cost less.
	pictureWait = time.Millisecond
	// probeEvery is that interval while padding or a replay is being sent, which must be paced
	// evenly.
	probeEvery = 10 * time.Millisecond
)

// Workers send to the subscribers. Each has a share of them.
type Workers struct {
	all  []*worker
	stop chan struct{}
	done sync.WaitGroup
	once sync.Once
}

// NewWorkers starts n workers, one per core for 0.
func NewWorkers(n int) *Workers {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	w := &Workers{stop: make(chan struct{})}
	for range n {
		x := newWorker()
		w.all = append(w.all, x)
		w.done.Go(func() { x.run(w.stop) })
	}
	return w
}

// Close ends the workers after their current packets. It waits for writers that are in a call.
func (w *Workers) Close() {
	w.once.Do(func() { close(w.stop) })
	w.done.Wait()
}

// idlest returns the worker with the fewest subscribers, and counts one more for it.
func (w *Workers) idlest() *worker {
	best := w.all[0]
	for _, x := range w.all[1:] {
		if x.load.Load() < best.load.Load() {
			best = x
		}
	}
	best.load.Add(1)
	return best
}

// worker is one goroutine and the data that it alone touches.
type worker struct {
	wake chan struct{}
	load atomic.Int64 // number of its subscribers

	flushDue   atomic.Bool // the new packets are to be sent now
	flushTimer *time.Timer // sets flushDue

	mu    sync.Mutex
	dirty []*feed  // tracks with new packets
	calls []func() // functions that the worker's goroutine is to call

	feeds    map[*Track]*feed
	egresses []*Egress
	taken    []*feed
	called   []func()
	touched  []*Egress
	// Buffers for rewritten data.
	scratch   [largePacket + 64]byte
	extension [256]byte
	demands   []demand
}

func newWorker() *worker {
	w := &worker{wake: make(chan struct{}, 1), feeds: map[*Track]*feed{}}
	w.flushTimer = time.AfterFunc(time.Hour, w.flush)
	w.flushTimer.Stop() // until packets wait
	return w
}

func (w *worker) run(stop chan struct{}) {
	pace := tickEvery
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	defer w.flushTimer.Stop()
	adjust := func() {
		if next := w.pace(); next != pace {
			pace = next
			if pace == 0 {
				ticker.Stop()
			} else {
				ticker.Reset(pace)
			}
		}
	}
	for {
		select {
		case <-w.wake:
			w.pass()
			if pace == 0 {
				adjust()
			}
		case <-ticker.C:
			w.pass()
			w.tick()
			adjust()
		case <-stop:
			return
		}
	}
}

func (w *worker) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// do schedules a call of f on the worker's goroutine.
func (w *worker) do(f func()) {
	w.doLater(f)
	w.rouse()
}

// doLater schedules a call of f for the next pass. It comes within tickEvery while the worker has a subscriber, and otherwise
// when the worker is woken.
func (w *worker) doLater(f func()) {
	w.mu.Lock()
	w.calls = append(w.calls, f)
	w.mu.Unlock()
}

// flush makes the new packets due.
func (w *worker) flush() {
	if !w.flushDue.Swap(true) {
		w.rouse()
	}
}

// pass does the scheduled calls and sends the new packets that are due, subscriber by subscriber, so
// that packets for one destination are sent together.
func (w *worker) pass() {
	w.mu.Lock()
	w.taken = w.taken[:0]
	if w.flushDue.Swap(false) {
		w.flushTimer.Stop()
		w.taken, w.dirty = w.dirty, w.taken
	}
	w.called, w.calls = w.calls, w.called[:0]
	w.mu.Unlock()
	for i, f := range w.called {
		f()
		w.called[i] = nil
	}
	for _, f := range w.taken {
		f.collect()
	}
	for _, e := range w.touched {
		e.send()
	}
	clear(w.touched)
	w.touched = w.touched[:0]
	for i, f := range w.taken {
		f.finish()
		w.taken[i] = nil
	}
}

// tick does the periodic work.
func (w *worker) tick() {
	for _, e := range w.egresses {
		e.tick(e.config.Now())
	}
}

// pace returns the interval until the next tick, 0 for none: there is no subscriber.
func (w *worker) pace() time.Duration {
	if len(w.egresses) == 0 {
		return 0
	}
	for _, e := range w.egresses {
		if e.wanted > 0 || e.replaying {
			return probeEvery
		}
	}
	return tickEvery
}

// touch adds a subscriber to the current pass.
func (w *worker) touch(e *Egress) {
	if !e.touched {
		e.touched = true
		w.touched = append(w.touched, e)
	}
}

// feed is a track as one worker uses it.
type feed struct {
	track  *Track
	worker *worker
	queued atomic.Bool // the worker knows that there are new packets

	next uint64 // position in the history; only the worker changes it

	// Only the worker touches the following.
	sinks  []*Sink
	seen   situation
	batch  []*packet
	lagged bool // packets were lost because the worker was too slow
}

// notify informs the worker of new packets. They are due now, or if more of the picture is to
// come, after pictureWait. The track's lock is held.
func (f *feed) notify(more bool) {
	w := f.worker
	if !f.queued.Load() && f.queued.CompareAndSwap(false, true) {
		w.mu.Lock()
		if more && len(w.dirty) == 0 {
			w.flushTimer.Reset(pictureWait)
		}
		w.dirty = append(w.dirty, f)
		w.mu.Unlock()
	}
	if !more {
		w.flush()
	}
}

// collect takes the new packets of the track.
func (f *feed) collect() {
	f.queued.Store(false) // first, so that packets that arrive from now on aren't missed
	f.take()
	for _, s := range f.sinks {
		if len(f.batch) > 0 {
			s.egress.news = append(s.egress.news, s)
			f.worker.touch(s.egress)
		}
	}
}

func (f *feed) take() {
	t := f.track
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if oldest := t.past.oldest(); f.next < oldest {
		// Continue with the newest packet, not with old ones.
		f.lagged, f.next = true, t.past.written-1
	}
	for f.next < t.past.written && len(f.batch) < batchSize {
		p := t.past.at(f.next)
		p.refs.Add(1)
		f.batch = append(f.batch, p)
		f.next++
	}
	if f.next < t.past.written {
		f.notify(false)
	}
}

// finish releases the packets that collect took.
func (f *feed) finish() {
	for i, p := range f.batch {
		p.release()
		f.batch[i] = nil
	}
	f.batch, f.lagged = f.batch[:0], false
}

// join makes the worker send a track to a sink.
func (w *worker) join(t *Track, s *Sink) bool {
	f := w.feeds[t]
	if f == nil {
		f = &feed{track: t, worker: w}
		t.mu.Lock()
		if t.closed {
			t.mu.Unlock()
			return false
		}
		f.next = t.past.written
		t.feeds = append(t.feeds, f)
		t.mu.Unlock()
		w.feeds[t] = f
	}
	f.sinks = append(f.sinks, s)
	s.feed = f
	return true
}

// part reverses join.
func (w *worker) part(s *Sink) {
	f := s.feed
	if f == nil {
		return
	}
	s.feed = nil
	f.sinks = without(f.sinks, s)
	if len(f.sinks) > 0 {
		return
	}
	delete(w.feeds, f.track)
	t := f.track
	t.mu.Lock()
	defer t.mu.Unlock()
	// Write iterates over the list under the same lock.
	t.feeds = without(t.feeds, f)
}

// end is called when the track has ended.
func (f *feed) end() {
	for len(f.sinks) > 0 {
		f.sinks[0].leave()
	}
	delete(f.worker.feeds, f.track)
}

// without removes one element, keeping the order of the others.
func without[T comparable](list []T, x T) []T {
	for i, y := range list {
		if x == y {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}
