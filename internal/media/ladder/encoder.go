package ladder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"showfloor/internal/media/decoder"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
)

const (
	// niceness puts ffmpeg behind the server itself, and before the transcodes of recordings.
	niceness = 5
	// An encoder is too slow if it has maxBehind of media in more than maxHeld pictures, which a decoder may hold to put them in order,
	// for maxLag; or if it takes startLag until the first picture comes.
	maxBehind = time.Second
	maxHeld   = 16
	maxLag    = 1500 * time.Millisecond
	startLag  = 6 * time.Second
	// maxQueue bounds the pictures that wait for ffmpeg, and maxQueueBytes their bytes; it is more than startLag of most sources.
	maxQueue      = 512
	maxQueueBytes = 16 << 20
	// origin is the time of the first picture for ffmpeg, in milliseconds: some sources show pictures before their decoding times.
	origin = 1000
	// maxStamp is the largest time for ffmpeg, in milliseconds: FLV's have 32 bits, of which one is a sign for some programs. The
	// encoder is replaced before that, after 24 days.
	maxStamp = math.MaxInt32 - 1<<20
	// defaultDrain is Config.drain by default.
	defaultDrain = time.Second
)

// picture is a picture that the encoder was given and hasn't returned.
type picture struct {
	stamp int64 // its time for ffmpeg, in milliseconds; unique
	pts   time.Duration
	size  int
}

// encoder is a run of ffmpeg for one coding of a source. Only push, finish, old and the waits belong to the follower's goroutine.
type encoder struct {
	stream  *hub.Stream
	track   *hub.Track // of the source
	epoch   uint32
	base    time.Duration // the source's time at origin
	process *decoder.Process
	cancel  context.CancelFunc
	drain   time.Duration // Config.drain
	queue   chan []byte   // FLV for ffmpeg
	done    chan struct{} // closed when ffmpeg has ended and all is written
	err     error         // why; to be read after done
	decoded int64         // the last decoding time for ffmpeg
	closed  bool          // the queue
	began   time.Time     // on the clock of units
	behind  time.Time     // the time since which it is behind; zero: it isn't

	mu       sync.Mutex
	pictures []picture // in the order of push
	bytes    int       // of them
	returned []int64   // the newest stamp of each rendition; 0 before the first
	failure  error     // of an output
}

// encode starts an encoder, which takes pictures from u on.
func (l *Ladder) encode(ctx context.Context, stream *hub.Stream, u *hub.Unit, sizes []size) (*encoder, error) {
	if len(u.Track.SPS) < 4 || len(u.Track.SPS) > math.MaxUint16 || len(u.Track.PPS) > math.MaxUint16 {
		return nil, errors.New("the source has no usable parameter sets")
	}
	ctx, cancel := context.WithCancel(ctx)
	e := &encoder{
		stream: stream, track: u.Track, epoch: u.Epoch, base: min(u.DTS, u.PTS), cancel: cancel,
		drain: cmp.Or(l.config.drain, defaultDrain), began: u.Arrived,
		process: decoder.Command(ctx, os.TempDir(), niceness, l.ffmpeg, arguments(sizes)...),
		queue:   make(chan []byte, maxQueue+1), done: make(chan struct{}), returned: make([]int64, len(sizes)),
	}
	in, outputs, err := e.open(sizes)
	if err != nil {
		cancel()
		return nil, err
	}
	e.queue <- flvStart(u.Track, origin)
	l.work.Go(func() { e.write(in) })
	var reading sync.WaitGroup
	for i, out := range outputs {
		reading.Go(func() { e.read(out, i, sizes[i].Name) })
	}
	l.work.Go(func() {
		defer close(e.done)
		defer cancel()
		e.err = e.process.Wait()
		reading.Wait()
	})
	return e, nil
}

// open starts ffmpeg, and returns the pipes of its input and its outputs.
func (e *encoder) open(sizes []size) (in io.WriteCloser, outputs []*os.File, err error) {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // ffmpeg has its own
		}
		if err != nil {
			for _, f := range outputs {
				_ = f.Close() // nothing was read
			}
		}
	}()
	for range sizes {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, outputs, fmt.Errorf("open a pipe: %w", err)
		}
		outputs, theirs = append(outputs, r), append(theirs, w)
	}
	e.process.Cmd.ExtraFiles = theirs
	in, err = e.process.Cmd.StdinPipe()
	if err != nil {
		return nil, outputs, fmt.Errorf("open a pipe: %w", err)
	}
	// Its files are pipes, so it may write no other ones. It may run for days, so its CPU time has no limit: it can't take more than
	// its share, and is ended when it is late.
	if err := e.process.Start(decoder.Limits{Memory: int64(4+len(sizes)) << 30}); err != nil {
		return nil, outputs, err
	}
	return in, outputs, nil
}

// write writes the queue to ffmpeg until it is closed, or ffmpeg has ended.
func (e *encoder) write(in io.WriteCloser) {
	defer func() { _ = in.Close() }() // ffmpeg may have ended
	for b := range e.queue {
		if _, err := in.Write(b); err != nil {
			return // why is in its exit status
		}
	}
}

// push gives a picture to the encoder; false if that is too slow.
func (e *encoder) push(u *hub.Unit) bool {
	p := picture{stamp: e.stamp(u.PTS), pts: u.PTS, size: u.Size()}
	e.mu.Lock()
	for e.find(p.stamp) != nil {
		p.stamp++ // two pictures in a millisecond
	}
	slow := len(e.pictures) >= maxQueue || e.bytes+p.size > maxQueueBytes || e.late(p.pts, u.Arrived)
	if !slow {
		e.pictures, e.bytes = append(e.pictures, p), e.bytes+p.size
	}
	e.mu.Unlock()
	if slow {
		return false
	}
	e.decoded = max(e.decoded, e.stamp(u.DTS))
	select {
	case e.queue <- appendPicture(nil, u, e.decoded, p.stamp):
		return true
	default:
		return false
	}
}

// stamp is a time for ffmpeg.
func (e *encoder) stamp(at time.Duration) int64 {
	return int64((at-e.base).Round(time.Millisecond)/time.Millisecond) + origin
}

// old reports whether another encoder must continue, because the times become too large.
func (e *encoder) old(u *hub.Unit) bool { return e.stamp(u.PTS) > maxStamp }

// late reports whether the encoder is too slow when the next picture has arrived; the caller holds mu.
func (e *encoder) late(pts time.Duration, now time.Time) bool {
	if e.oldest() == 0 {
		return now.Sub(e.began) > startLag
	}
	switch {
	case len(e.pictures) <= maxHeld || pts-e.pictures[0].pts < maxBehind:
		e.behind = time.Time{}
	case e.behind.IsZero():
		e.behind = now
	}
	return !e.behind.IsZero() && now.Sub(e.behind) > maxLag
}

// oldest is the newest stamp that all renditions have returned; the caller holds mu.
func (e *encoder) oldest() int64 {
	oldest := int64(math.MaxInt64)
	for _, stamp := range e.returned {
		oldest = min(oldest, stamp)
	}
	return oldest
}

// find returns the picture with a stamp; the caller holds mu.
func (e *encoder) find(stamp int64) *picture {
	for i := range e.pictures {
		if e.pictures[i].stamp == stamp {
			return &e.pictures[i]
		}
	}
	return nil
}

// take returns the source's time of a picture that rendition i returns. Pictures come back in the order in which they are shown:
// earlier ones that all renditions have passed were lost in the decoder.
func (e *encoder) take(i int, stamp int64) (pts time.Duration, first, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.find(stamp)
	if p == nil {
		return 0, false, false
	}
	pts, first = p.pts, e.oldest() == 0
	e.returned[i] = stamp
	oldest := e.oldest()
	first = first && oldest > 0
	kept := e.pictures[:0]
	for _, p := range e.pictures {
		if p.stamp <= oldest {
			e.bytes -= p.size
		} else {
			kept = append(kept, p)
		}
	}
	e.pictures = kept
	return pts, first, true
}

// read passes a rendition's pictures to the hub.
func (e *encoder) read(out *os.File, i int, name string) {
	defer func() { _ = out.Close() }() // it was only read
	w := &writer{encoder: e, index: i, name: name, track: &hub.Track{Codec: hub.H264, Rendition: name}}
	if err := rtmp.ReadFLV(out, time.Time{}, w); err != nil && !errors.Is(err, os.ErrClosed) {
		e.mu.Lock()
		e.failure = errors.Join(e.failure, err)
		e.mu.Unlock()
		e.cancel()
	}
	_, _ = io.Copy(io.Discard, out)
	e.stream.WriteRendition(&hub.Unit{Track: w.track, Epoch: e.epoch})
}

// writer writes a rendition's pictures to the hub.
type writer struct {
	encoder *encoder
	index   int
	name    string
	from    *hub.Track // of the newest picture
	track   *hub.Track // the same with the rendition's name
}

// Write implements rtmp.Output.
func (w *writer) Write(u *hub.Unit) error {
	pts, first, ok := w.encoder.take(w.index, u.PTS.Milliseconds())
	if !ok {
		return errNoPicture
	}
	if first {
		w.encoder.stream.SetLadder(hub.LadderRunning)
	}
	if w.from != u.Track {
		track := *u.Track
		track.Rendition = w.name
		w.from, w.track = u.Track, &track
	}
	u.Track, u.Epoch, u.DTS, u.PTS = w.track, w.encoder.epoch, pts, pts
	w.encoder.stream.WriteRendition(u)
	return nil
}

// Discontinuity implements rtmp.Output. The times are found by their stamps, so gaps don't matter.
func (w *writer) Discontinuity() {}

// ended reports whether ffmpeg has ended by itself.
func (e *encoder) ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// finish lets the encoder return the pictures that it has.
func (e *encoder) finish() {
	if !e.closed {
		e.closed = true
		close(e.queue)
	}
	timer := time.NewTimer(e.drain)
	defer timer.Stop()
	select {
	case <-e.done:
	case <-timer.C:
		e.cancel()
	}
}

// kill ends the encoder at once.
func (e *encoder) kill() {
	e.cancel()
	if !e.closed {
		e.closed = true
		close(e.queue)
	}
}

// wait waits until the encoder has ended.
func (e *encoder) wait() {
	e.kill() // if it has ended by itself, this only closes the queue
	<-e.done
	if e.failure != nil {
		e.err = e.failure
	}
}
