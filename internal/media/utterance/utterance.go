// Package utterance cuts what participants say into utterances: a few seconds of one voice, between two pauses.
package utterance

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"showfloor/internal/media/oggopus"
)

const (
	// tickEvery is how often voices without packets are looked at.
	tickEvery = 250 * time.Millisecond
	// maxWaiting and maxWaitingBytes bound the utterances that wait to be kept. Beyond that they are dropped.
	maxWaiting      = 512
	maxWaitingBytes = 32 << 20
	// keepers is how many utterances are kept at a time.
	keepers = 4
	// keepTries is how often it is tried, with a pause of keepPause.
	keepTries = 5
	keepPause = time.Second
)

// Utterance is a piece of what one participant says.
type Utterance struct {
	TenantID, RoomID, UserID, TrackID string
	// StartedAt and EndedAt are times of its arrival, with a part of the pauses around it.
	StartedAt, EndedAt time.Time
	// Sound is an Ogg file with Opus, at most maxSound bytes and maxLength long.
	Sound []byte
}

// Config of a Listener.
type Config struct {
	// Keep stores an utterance. It may block, and is called from several goroutines. An error that is no ErrUnwanted is tried again.
	Keep func(ctx context.Context, u Utterance) error
	// Now is the clock; time.Now by default.
	Now func() time.Time
	Log *slog.Logger
}

// ErrUnwanted is returned by Config.Keep for an utterance that is not to be kept.
var ErrUnwanted = errors.New("the utterance is not wanted")

// Listener cuts the voices of rooms. It is safe for concurrent use.
type Listener struct {
	config Config
	ctx    context.Context //nolint:containedctx // it ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
	stop   chan struct{}

	mu      sync.Mutex
	voices  map[*Voice]struct{}
	waiting chan cut
	bytes   int
	closed  bool
	dropped int
}

// New starts a listener. Close ends it.
func New(c Config) *Listener {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	l := &Listener{config: c, voices: map[*Voice]struct{}{}, waiting: make(chan cut, maxWaiting), stop: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	for range keepers {
		l.work.Go(l.keepAll)
	}
	l.work.Go(l.tick)
	return l
}

// Listen begins a voice: a track with Opus. Close ends it.
func (l *Listener) Listen(tenantID, roomID, userID, trackID string) *Voice {
	v := &Voice{listener: l, tenantID: tenantID, roomID: roomID, userID: userID, trackID: trackID}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.voices[v] = struct{}{}
	return v
}

// Close ends all voices, and waits until their utterances are kept; not longer than ctx.
func (l *Listener) Close(ctx context.Context) {
	for _, v := range l.all() {
		v.Close()
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.closed = true
	close(l.stop)
	close(l.waiting)
	l.mu.Unlock()
	defer l.work.Wait()
	defer l.cancel()
	done := make(chan struct{})
	go func() { l.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (l *Listener) all() []*Voice {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*Voice, 0, len(l.voices))
	for v := range l.voices {
		list = append(list, v)
	}
	return list
}

// tick ends the utterances of voices that get no packets any more: those of muted tracks.
func (l *Listener) tick() {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			now := l.config.Now()
			for _, v := range l.all() {
				v.tick(now)
			}
		case <-l.stop:
			return
		}
	}
}

// cut is an utterance before it is written as a file.
type cut struct {
	Utterance

	packets []packet
	size    int
}

// pass queues a cut. It never waits.
func (l *Listener) pass(c cut) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.bytes+c.size > maxWaitingBytes || len(l.waiting) == cap(l.waiting) {
		l.dropped++
		l.config.Log.Warn("an utterance was dropped: too many wait to be stored", "room", c.RoomID, "dropped", l.dropped)
		return
	}
	l.bytes += c.size
	l.waiting <- c
}

func (l *Listener) keepAll() {
	for c := range l.waiting {
		l.keep(c)
		l.mu.Lock()
		l.bytes -= c.size
		l.mu.Unlock()
	}
}

func (l *Listener) keep(c cut) {
	u := c.Utterance
	u.Sound = file(c.packets)
	for try := 1; ; try++ {
		err := l.config.Keep(l.ctx, u)
		if err == nil || errors.Is(err, ErrUnwanted) {
			return
		}
		if try == keepTries || l.ctx.Err() != nil {
			l.config.Log.Error("an utterance could not be stored", "room", u.RoomID, "error", err)
			return
		}
		select {
		case <-time.After(keepPause):
		case <-l.ctx.Done():
		}
	}
}

// file writes packets, which are in order, as an Ogg file. Gaps are silence.
func file(packets []packet) []byte {
	var b bytes.Buffer
	w := oggopus.NewWriter(&b)
	start := w.Written()
	for _, p := range packets {
		w.Fill(start+p.at-packets[0].at, oggopus.FrameLength)
		if w.Written()-start-(p.at-packets[0].at) < oggopus.FrameLength { // otherwise it repeats the one before
			w.Frame(p.payload, p.length)
		}
	}
	return b.Bytes()
}
