// Package batch serializes concurrent requests for the same thing: one query
// answers many of them, or they take turns.
package batch

import (
	"context"
	"sync"
	"time"

	"showfloor/internal/base/stored"
)

// timeout is the deadline of one query, which may be shared by many callers.
const timeout = 10 * time.Second

// Batcher answers many callers with one query. No caller waits for others to join:
// the first caller's query runs at once, alone, and callers that arrive meanwhile
// share the next one. So a single call is as fast as without a Batcher, and a
// thousand calls cost the round trips and commits of a few.
type Batcher[In, Out any] struct {
	query func(ctx context.Context, in []In) ([]Out, error)
	most  int

	mu      sync.Mutex
	running bool
	waiting []*question[In, Out]
}

// question is one caller's input; out and err are set when done is closed.
type question[In, Out any] struct {
	in   In
	out  Out
	err  error
	done chan struct{}
}

// New makes a Batcher. query answers all of in, in the same order; most is the
// maximum length of in.
func New[In, Out any](most int, query func(ctx context.Context, in []In) ([]Out, error)) *Batcher[In, Out] {
	return &Batcher[In, Out]{query: query, most: most}
}

// Do answers one question. If a shared query fails, the cause may be one of its
// questions, so each is asked again by itself. If ctx ends, Do returns its error,
// but the query still runs; its result is discarded. The query's context doesn't
// have the counter of ctx (stored.Count), because the query may be shared: a
// question that counts bytes carries its own counter.
func (b *Batcher[In, Out]) Do(ctx context.Context, in In) (out Out, err error) {
	ctx = stored.Without(ctx)
	q := &question[In, Out]{in: in, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, q)
	first := !b.running
	b.running = true
	b.mu.Unlock()
	if first {
		// Without the cancellation of ctx, because others share the query.
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
	ctx, cancel := context.WithTimeout(ctx, timeout) // ctx may have no deadline: see Keyed.Do
	defer cancel()
	alone, err := b.query(ctx, []In{in})
	if err != nil {
		return out, err
	}
	return alone[0], nil
}

// run makes one query after the other until no question waits.
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
