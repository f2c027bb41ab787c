package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// liveDelay is the time from the arrival of a packet to the output of its picture or sound. Decoders have this time, so that
	// pictures and voices stay in sync.
	liveDelay = 400 * time.Millisecond
	// liveLag is how far the encoder may be behind the clock. Then it is replaced.
	liveLag = 3 * time.Second
	// liveStall is for how long an encoder or a mixer of voices may give no byte. Then it is replaced.
	liveStall = 10 * time.Second
	// liveNice puts the processes behind the server itself, and before the work on recordings.
	liveNice = 5
	// liveTries is how many encoders in a row may fail within liveSteady of their starts. Then the composition fails. The pauses
	// between them double from livePause on.
	liveTries  = 5
	liveSteady = time.Minute
	livePause  = time.Second
)

// LiveConfig describes the composition of a room while it is open.
type LiveConfig struct {
	// Name is shown in white on black while there is no picture.
	Name string
	// Read gets the output of an encoder, H.264 and AAC in FLV, and must read all of it. When an encoder is replaced, Read is called
	// again, with times that begin at 0 again. An error ends the composition.
	Read func(flv io.Reader) error
	// Threads bounds those of the encoder; 0 for 2.
	Threads int
	// Failed is called once if the composition ends by itself, with the error of Read or of the last encoder. It must not block.
	Failed func(error)

	// pause is that after the first failure; livePause by default.
	pause time.Duration
}

// Live composes the picture of one participant and the voices of all. It is safe for concurrent use.
type Live struct {
	engine *Engine
	config LiveConfig
	began  time.Time // of its clock
	mixer  *mixer
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	card    *image
	current *Shown // nil: the card is shown
	next    *Shown // replaces current with its first picture
}

// Live starts to compose a room, until Close.
func (e *Engine) Live(c LiveConfig) (*Live, error) {
	if !e.Works() {
		return nil, ErrNoEncoder
	}
	if c.Threads <= 0 {
		c.Threads = 2
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Live{engine: e, config: c, began: time.Now(), cancel: cancel, card: newCard()}
	l.mixer = newMixer(e, l.began)
	l.work.Go(func() { l.mixer.run(ctx) })
	l.work.Go(func() { l.draw(ctx) })
	l.work.Go(func() { l.run(ctx) })
	return l, nil
}

// Close ends the composition, its processes, voices and pictures. It is idempotent, and returns when all has ended.
func (l *Live) Close() {
	l.mu.Lock()
	l.closed = true
	shown := []*Shown{l.current, l.next}
	l.current, l.next = nil, nil
	l.mu.Unlock()
	l.cancel()
	for _, s := range shown {
		if s != nil {
			s.end()
		}
	}
	l.work.Wait()
}

// since is the time of the composition's clock.
func (l *Live) since() time.Duration { return time.Since(l.began) }

// errLate means that an encoder or mixer is too slow.
var errLate = errors.New("the encoder is slower than the pictures")

// errRead is in the error of LiveConfig.Read.
var errRead = errors.New("read the composed media")

// run runs encoders until ctx ends or too many have failed.
func (l *Live) run(ctx context.Context) {
	first := cmp.Or(l.config.pause, livePause)
	pause := first
	for tries := 1; ; tries++ {
		began := time.Now()
		err := guard(func() error { return l.encode(ctx) })
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > liveSteady {
			tries, pause = 1, first
		}
		if tries >= liveTries || errors.Is(err, errRead) {
			if l.config.Failed != nil {
				l.config.Failed(err)
			}
			return
		}
		l.engine.log.Warn("the encoder of a broadcast ended and is started again", "error", err)
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return
		}
	}
}

// Show makes the pictures of a track the shown ones, from its first key picture on. The pictures of the former track stay until then.
// key requests a key picture of the sender; it must not block. The error is that of an unknown codec.
func (l *Live) Show(mimeType string, clockRate uint32, key func()) (*Shown, error) {
	f, known := formatOf(mimeType)
	if !known {
		return nil, fmt.Errorf("pictures in %s can't be shown", mimeType)
	}
	s := newShown(l, f, clockRate, key)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		s.cancel()
		close(s.done)
		return s, nil
	}
	if l.next != nil {
		l.work.Go(l.next.end)
	}
	l.next = s
	l.work.Go(s.run)
	return s, nil
}

// Blank makes the card with the room's name the picture.
func (l *Live) Blank() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for _, s := range []*Shown{l.current, l.next} {
		if s != nil {
			l.work.Go(s.end)
		}
	}
	l.current, l.next = nil, nil
}

// paint copies the picture of a time to data.
func (l *Live) paint(data []byte, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next != nil && l.next.advance(at) {
		if l.current != nil {
			l.work.Go(l.current.end)
		}
		l.current, l.next = l.next, nil
	}
	pic := l.card
	if l.current != nil {
		l.current.advance(at)
		pic = l.current.now.pic
	}
	copy(data, pic.data)
}
