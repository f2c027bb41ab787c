package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/commerce/order"
)

// checkTimeout is longer than the calls of one check together: search for a
// page, create one.
const checkTimeout = 100 * time.Second

// checkOrder asks the processor for the state of an order.
type checkOrder struct {
	river.WorkerDefaults[order.CheckArgs]
	orders *order.Service
	clock
}

// Timeout is the longest time for the processor's answers.
func (*checkOrder) Timeout(*river.Job[order.CheckArgs]) time.Duration { return checkTimeout }

// NextRetry returns a time soon after the failure. After the last attempt,
// the upkeep finds the order again.
func (w *checkOrder) NextRetry(job *river.Job[order.CheckArgs]) time.Time { return w.soon(job.Attempt) }

// Work updates the order to the processor's state.
func (w *checkOrder) Work(ctx context.Context, job *river.Job[order.CheckArgs]) error {
	return outcome(w.orders.CheckOrder(ctx, job.Args.OrderID))
}
