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
	// maxCauses is how many causes are told apart in a period, and maxShapes
	// how many errors of them may have the same message. Beyond that they share a
	// count, so that texts that clients choose don't fill the memory.
	maxCauses = 1000
	maxShapes = 20
)

// allowance is how many lines of one cause pass in each period. Below slog.LevelInfo
// nothing is limited: the operator asked for all of it.
func allowance(level slog.Level) int {
	if level >= slog.LevelWarn {
		return 10
	}
	return 200
}

// Handler passes the first lines of each cause in a period on to another handler
// and holds back the rest. When the period is over the last line that was held
// back is written, with how many there were in the attribute "suppressed".
//
// A cause is the level, the message, the error's text without its numbers and ids, and
// of a line about a request (attributes "route" and "status") the route and the class of
// the status; other attributes don't count.
type Handler struct {
	next slog.Handler
	*causes
}

// causes is what all handlers share that derive from one.
type causes struct {
	period time.Duration
	now    func() time.Time

	// writing is held for reading while a line is written, ended after the last one.
	writing sync.RWMutex
	ended   bool

	mu     sync.Mutex
	counts map[cause]*count
	// shapes is how many causes there are that differ in the error only.
	shapes map[cause]int
}

// cause is what lines have in common that are counted together.
type cause struct {
	level   slog.Level
	message string
	// answer is the route and the class of the status of a line about a request. The
	// server has only so many, so maxShapes doesn't bound them.
	answer answer
	// shape is the error's text as shapeOf makes it.
	shape string
}

// withoutShape is what all errors have in common that share maxShapes.
func (c cause) withoutShape() cause {
	c.shape = ""
	return c
}

// count is what was logged of a cause since the period began.
type count struct {
	began  time.Time
	passed int
	// held is how many lines were held back; last is the newest of them, which
	// came by way of handler.
	held    int
	last    slog.Record
	handler slog.Handler
}

// New makes a handler around another one. A period of 0 is DefaultPeriod, a
// clock that is nil time.Now.
func New(next slog.Handler, period time.Duration, now func() time.Time) *Handler {
	if period == 0 {
		period = DefaultPeriod
	}
	if now == nil {
		now = time.Now
	}
	return &Handler{next, &causes{period: period, now: now, counts: map[cause]*count{}, shapes: map[cause]int{}}}
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

// Handle implements slog.Handler. After the end of Run it drops the line.
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

// Run writes, until ctx ends, the line that ends a period for each cause of which
// lines were held back. Then it writes those of all that are left and ends the log:
// what the process prints next is the last line, whatever else still runs.
func (h *Handler) Run(ctx context.Context) {
	ticker := time.NewTicker(h.period / 10)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
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

// Sum ends the periods that began at or before a time: it writes the last line
// that was held back of each, and forgets them.
func (h *Handler) Sum(began time.Time) {
	for _, c := range h.take(began) {
		last := c.last
		last.AddAttrs(slog.Int("suppressed", c.held))
		_ = c.handler.Handle(context.Background(), last) // There is nobody to tell.
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
		n = &count{began: now}
		c.counts[of] = n
		c.shapes[of.withoutShape()]++
	}
	return n
}

// take forgets the counts that began at or before a time, and returns those of
// which lines were held back.
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
