// Package batch is for many who want one thing at once: they are answered together
// with one query, or take turns.
package batch

import (
	"context"
	"sync"
	"time"

	"showfloor/internal/stored"
)

// timeout bounds one query, whoever waits for it.
const timeout = 10 * time.Second

// Batcher answers many callers with one query. Nobody waits for company: the
// first caller's query runs at once, alone, and those who come meanwhile share
// the next one. So one delivery is as fast as without it, and a thousand cost
// the round trips and commits of a few.
type Batcher[In, Out any] struct {
	query func(ctx context.Context, in []In) ([]Out, error)
	most  int

	mu      sync.Mutex
	running bool
	waiting []*question[In, Out]
}

// question is what one caller asks; out and err are set when done is closed.
type question[In, Out any] struct {
	in   In
	out  Out
	err  error
	done chan struct{}
}

// New makes a Batcher on a query that answers all of in, in the same order; most
// bounds how many that are.
func New[In, Out any](most int, query func(ctx context.Context, in []In) ([]Out, error)) *Batcher[In, Out] {
	return &Batcher[In, Out]{query: query, most: most}
}

// Do answers one question. A query may fail for all because of one of them, so
// then each asks again by itself. When ctx ends Do returns its error; the
// question is put to the database all the same. No query has the counter of ctx
// (stored.Count), because the query may be shared: what counts bytes carries its
// counter in its question.
func (b *Batcher[In, Out]) Do(ctx context.Context, in In) (out Out, err error) {
	ctx = stored.Without(ctx)
	q := &question[In, Out]{in: in, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, q)
	first := !b.running
	b.running = true
	b.mu.Unlock()
	if first {
		// Not by ctx: the query is others' too.
		go b.run(context.WithoutCancel(ctx))
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		return out, ctx.Err()
	}
	if q.err == nil {
		return q.out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout) // ctx may have no end: see Lanes.Do
	defer cancel()
	alone, err := b.query(ctx, []In{in})
	if err != nil {
		return out, err
	}
	return alone[0], nil
}

// run makes one query after the other until nobody waits.
func (b *Batcher[In, Out]) run(ctx context.Context) {
	for {
		b.mu.Lock()
		n := min(len(b.waiting), b.most)
		batch := b.waiting[:n:n]
		b.waiting = b.waiting[n:]
		b.running = n > 0
		b.mu.Unlock()
		if n == 0 {
			return
		}
		b.answer(ctx, batch)
	}
}

func (b *Batcher[In, Out]) answer(ctx context.Context, batch []*question[In, Out]) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	in := make([]In, len(batch))
	for i, q := range batch {
		in[i] = q.in
	}
	out, err := b.query(ctx, in)
	for i, q := range batch {
		if q.err = err; err == nil {
			q.out = out[i]
		}
		close(q.done)
	}
}
