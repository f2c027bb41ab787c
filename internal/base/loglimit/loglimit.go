// Package loglimit bounds how much is logged about one cause: when a database
// is away or a disk is full, hundreds of lines a second say the same.
package loglimit

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// DefaultPeriod is the time over which lines of a cause are counted.
	DefaultPeriod = 10 * time.Second
	// maxCauses is the number of causes that are counted separately in a period, and
	// maxShapes the number of errors with the same message among them. Further lines share a
	// count, so that texts from clients don't fill the memory.
	maxCauses = 1000
	maxShapes = 20
)

// allowance is the number of lines of one cause that are written in each period. Levels
// below slog.LevelInfo are not limited, because the operator requested them.
func allowance(level slog.Level) int {
	if level >= slog.LevelWarn {
		return 10
	}
	return 200
}

// Handler passes the first lines of each cause in a period to another handler and
// suppresses the others. At the end of the period it writes the last suppressed line,
// with the number of suppressed lines in the attribute "suppressed".
//
// A cause is the level, the message and the error's text without its numbers and ids. For
// a line about a request (attributes "route" and "status"), it is also the route and the
// class of the status. Other attributes are ignored.
type Handler struct {
	next slog.Handler
	*causes
}

// causes is the state that all handlers derived from one share.
type causes struct {
	period time.Duration
	now    func() time.Time

	// writing is held for reading while a line is written, ended after the last one.
	writing sync.RWMutex
	ended   bool

	mu     sync.Mutex
	counts map[cause]*count
	// shapes is the number of causes that differ only in the error.
	shapes map[cause]int
	// counting receives a value when the first count begins.
	counting chan struct{}
}

// cause is the key by which lines are counted.
type cause struct {
	level   slog.Level
	message string
	// answer is the route and the class of the status of a line about a request. The
	// server has only so many, so maxShapes doesn't bound them.
	answer answer
	// shape is the error's text, shortened and with its numbers and ids masked (causeOf).
	shape string
}

// withoutShape returns the cause that all errors beyond maxShapes share.
func (c cause) withoutShape() cause {
	c.shape = ""
	return c
}

// count holds the lines of a cause since the period began.
type count struct {
	began  time.Time
	passed int
	// held is the number of suppressed lines; last is the newest of them, which
	// handler received.
	held    int
	last    slog.Record
	handler slog.Handler
}

// New makes a handler that wraps another one. A period of 0 means DefaultPeriod, and a
// nil clock means time.Now.
func New(next slog.Handler, period time.Duration, now func() time.Time) *Handler {
	if period == 0 {
		period = DefaultPeriod
	}
	if now == nil {
		now = time.Now
	}
	return &Handler{next, &causes{
		period: period, now: now, counts: map[cause]*count{}, shapes: map[cause]int{}, counting: make(chan struct{}, 1),
	}}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{h.next.WithAttrs(attrs), h.causes}
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.next.WithGroup(name), h.causes}
}

// Handle implements slog.Handler. It drops lines after the end of Run.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	h.writing.RLock()
	defer h.writing.RUnlock()
	if h.ended {
		return nil
	}
	if r.Level < slog.LevelInfo || h.admit(causeOf(r), r, h.next) {
		return h.next.Handle(ctx, r)
	}
	return nil
}

// Run writes the last suppressed line of each cause at the end of each period, until ctx
// ends. Then it writes all that are left and closes the log, so that the process's own
// next line is the last one, even if goroutines still run.
func (h *Handler) Run(ctx context.Context) {
	ticker := time.NewTicker(h.period / 10)
	defer ticker.Stop()
	for {
		var tick <-chan time.Time
		if h.any() { // otherwise there is nothing to end, and the ticks would only wake an idle server
			tick = ticker.C
		}
		select {
		case <-h.counting:
		case <-tick:
			h.Sum(h.now().Add(-h.period))
		case <-ctx.Done():
			h.Sum(h.now())
			h.writing.Lock()
			h.ended = true
			h.writing.Unlock()
			return
		}
	}
}

// Sum ends the periods that began at or before a time: it writes the last suppressed
// line of each, and deletes their counts.
func (h *Handler) Sum(began time.Time) {
	for _, c := range h.take(began) {
		last := c.last
		last.AddAttrs(slog.Int("suppressed", c.held))
		_ = c.handler.Handle(context.Background(), last) // An error here can't be reported.
	}
}

// admit counts a line and reports whether it passes.
func (c *causes) admit(of cause, r slog.Record, handler slog.Handler) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	n := c.find(of, now)
	if n.passed < allowance(r.Level) {
		n.passed++
		return true
	}
	n.held++
	n.last, n.handler = r.Clone(), handler
	return false
}

// find returns the cause's count, which may be shared when there are too many.
func (c *causes) find(of cause, now time.Time) *count {
	if n := c.counts[of]; n != nil {
		return n
	}
	if message := of.withoutShape(); c.shapes[message] >= maxShapes {
		of = message
	}
	if len(c.counts) >= maxCauses {
		of = cause{level: of.level}
	}
	n := c.counts[of]
	if n == nil {
		if len(c.counts) == 0 {
			select {
			case c.counting <- struct{}{}:
			default:
			}
		}
		n = &count{began: now}
		c.counts[of] = n
		c.shapes[of.withoutShape()]++
	}
	return n
}

// any reports whether there are counts.
func (c *causes) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.counts) > 0
}

// take deletes the counts that began at or before a time, and returns those with
// suppressed lines.
func (c *causes) take(began time.Time) []*count {
	c.mu.Lock()
	defer c.mu.Unlock()
	var over []*count
	for of, n := range c.counts {
		if n.began.After(began) {
			continue
		}
		if n.held > 0 {
			over = append(over, n)
		}
		delete(c.counts, of)
		message := of.withoutShape()
		if c.shapes[message]--; c.shapes[message] == 0 {
			delete(c.shapes, message)
		}
	}
	return over
}
