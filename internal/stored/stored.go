// Package stored counts the bytes of events and audit entries that a request writes: a
// short request can write long ones.
package stored

import (
	"context"
	"sync/atomic"
)

type key struct{}

// Count returns a context in which Add counts, and the count.
func Count(ctx context.Context) (context.Context, *atomic.Int64) {
	n := new(atomic.Int64)
	return context.WithValue(ctx, key{}, n), n
}

// Add counts bytes; it does nothing where nobody counts.
func Add(ctx context.Context, bytes int) {
	if n, ok := ctx.Value(key{}).(*atomic.Int64); ok {
		n.Add(int64(bytes))
	}
}
