// Package stored counts the bytes of events, webhook deliveries and audit entries that a
// request writes: a short request can write long ones.
package stored

import (
	"context"
	"sync/atomic"
)

// Delivery is how many bytes a webhook delivery counts as: its row and its job, without the
// event.
const Delivery = 512

// Counter counts the bytes of one request. Its methods may be called by several goroutines;
// a nil Counter counts nothing.
type Counter struct{ n atomic.Int64 }

// Add counts bytes.
func (c *Counter) Add(bytes int) {
	if c != nil {
		c.n.Add(int64(bytes))
	}
}

// Bytes returns the sum of all added bytes.
func (c *Counter) Bytes() int64 {
	if c == nil {
		return 0
	}
	return c.n.Load()
}

// Reset sets the counter back to an earlier value, because the bytes that were added since
// then were rolled back. No other goroutine may add to the counter meanwhile: a request's
// transactions run one after the other.
func (c *Counter) Reset(bytes int64) {
	if c != nil {
		c.n.Store(bytes)
	}
}

type key struct{}

// Count returns a context in which Add counts, and the counter.
func Count(ctx context.Context) (context.Context, *Counter) {
	c := new(Counter)
	return context.WithValue(ctx, key{}, c), c
}

// From returns the context's counter; nil for none.
func From(ctx context.Context) *Counter {
	c, _ := ctx.Value(key{}).(*Counter)
	return c
}

// Without returns a context in which Add counts nothing. It is for work that several
// requests share: each adds its own part to its own counter.
func Without(ctx context.Context) context.Context {
	if From(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, (*Counter)(nil))
}

// Add adds bytes to the context's counter, if there is one.
func Add(ctx context.Context, bytes int) { From(ctx).Add(bytes) }
