package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
)

// batch is how many rows one statement of DeleteInBatches deletes. It is small
// enough that the statement is far from its time limit on any machine and holds
// no lock for long.
const batch = 5000

type deletedKey struct{}

// CountDeleted returns a context with a counter, to which DeleteInBatches adds the rows that it deletes. The counter may be
// read at any time.
func CountDeleted(ctx context.Context) (context.Context, *atomic.Int64) {
	deleted := &atomic.Int64{}
	return context.WithValue(ctx, deletedKey{}, deleted), deleted
}

// DeleteInBatches calls del, which deletes at most maxRows rows, until it deletes fewer. After an error, the rows deleted so
// far stay deleted. what names the rows in the error. ctx only carries the counter of CountDeleted, if there is one;
// del uses ctx itself, so that it ends with it.
func DeleteInBatches(ctx context.Context, what string, del func(maxRows int32) (int64, error)) error {
	total, counted := ctx.Value(deletedKey{}).(*atomic.Int64)
	for {
		n, err := del(batch)
		if err != nil {
			return fmt.Errorf("delete old %s: %w", what, err)
		}
		if counted {
			total.Add(n)
		}
		if n < batch {
			return nil
		}
	}
}
