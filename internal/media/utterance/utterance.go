// Package utterance cuts what participants say into utterances: a few seconds of one voice, between two pauses.
package utterance

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"showfloor/internal/base/fairshare"
	"showfloor/internal/media/oggopus"
)

const (
	// tickEvery is how often voices without packets are looked at.
	tickEvery = 250 * time.Millisecond
	// maxWaiting is how many utterances wait to be kept; they take up to 80 MiB. Beyond that they are dropped. One tenant gets three
	// quarters of the places, and each one fewWaiting.
	maxWaiting = 256
	fewWaiting = 16
	// keepers is how many utterances are kept at a time.
	keepers = 4
	// keepFor is how long it is tried, with a pause of keepPause, and keepTime the time limit of one try.
	keepFor   = 2 * time.Minute
	keepPause = time.Second
	keepTime  = 10 * time.Second
	// logEvery is the least time between two messages about dropped utterances.
	logEvery = 10 * time.Second
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
	// Dropped is called for each utterance that isn't kept because of a limit or a failure; nil for no calls. It must not block.
	Dropped func()
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
	// places are those of waiting utterances by tenant.
	places *fairshare.Places[string]

	mu      sync.Mutex
	voices  map[*Voice]struct{}
	budgets map[string]*budget // by room and user
	waiting chan cut
	closed  bool
	dropped int // since the last message about it
	logged  time.Time
}

// New starts a listener. Close ends it.
func New(c Config) *Listener {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Dropped == nil {
		c.Dropped = func() {}
	}
	l := &Listener{
		config: c, voices: map[*Voice]struct{}{}, budgets: map[string]*budget{}, waiting: make(chan cut, maxWaiting), stop: make(chan struct{}),
		places: fairshare.New[string](maxWaiting, maxWaiting/4, fewWaiting),
	}
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
	key := roomID + " " + userID
	if l.budgets[key] == nil {
		l.budgets[key] = newBudget()
	}
	v.budget = l.budgets[key]
	v.budget.voices++
	l.voices[v] = struct{}{}
	return v
}

// forget removes a voice that has ended.
func (l *Listener) forget(v *Voice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, here := l.voices[v]; here {
		delete(l.voices, v)
		v.budget.voices--
	}
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
	return slices.Collect(maps.Keys(l.voices))
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
			l.cleanUp(now)
		case <-l.stop:
			return
		}
	}
}

// cleanUp removes unused budgets, and logs how many utterances were dropped.
func (l *Listener) cleanUp(now time.Time) {
	l.mu.Lock()
	for key, b := range l.budgets {
		if b.voices == 0 && b.isFull(now) {
			delete(l.budgets, key)
		}
	}
	dropped := l.dropped
	if now.Sub(l.logged) < logEvery {
		dropped = 0
	}
	if dropped > 0 {
		l.dropped, l.logged = 0, now
	}
	l.mu.Unlock()
	if dropped > 0 {
		l.config.Log.Warn("utterances were dropped: a user sent more than real time, or the database is too slow", "utterances", dropped)
	}
}

// cut is an utterance before it is written as a file.
type cut struct {
	Utterance

	packets []packet
	length  int64 // in samples
}

// pass queues a cut, if its user's budget and its tenant's places allow it. It never waits.
func (l *Listener) pass(c cut, b *budget, now time.Time) {
	l.mu.Lock()
	ok := !l.closed && b.take(c.length, now) && l.places.Take(c.TenantID)
	if ok {
		l.waiting <- c // there are as many places as the channel has
	} else {
		l.dropped++
	}
	l.mu.Unlock()
	if !ok {
		l.config.Dropped()
	}
}

func (l *Listener) keepAll() {
	for c := range l.waiting {
		l.keep(c)
		l.places.Release(c.TenantID)
	}
}

// keep stores an utterance. It tries again while it fails, for some time.
func (l *Listener) keep(c cut) {
	u := c.Utterance
	u.Sound = file(c.packets)
	for end := time.Now().Add(keepFor); ; {
		ctx, cancel := context.WithTimeout(l.ctx, keepTime)
		err := l.config.Keep(ctx, u)
		cancel()
		if err == nil || errors.Is(err, ErrUnwanted) {
			return
		}
		if l.ctx.Err() != nil || time.Now().After(end) {
			l.config.Dropped()
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
