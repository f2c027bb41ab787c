package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/order"
)

// checkTimeout is above the calls of one check: look for a page, make one.
const checkTimeout = 100 * time.Second

// checkOrder asks the processor what became of an order.
type checkOrder struct {
	river.WorkerDefaults[order.CheckArgs]
	orders *order.Service
	clock
}

// Timeout bounds the processor's answers.
func (*checkOrder) Timeout(*river.Job[order.CheckArgs]) time.Duration { return checkTimeout }

// NextRetry is soon; when all attempts have failed, the order comes to be due again.
func (w *checkOrder) NextRetry(job *river.Job[order.CheckArgs]) time.Time { return w.soon(job.Attempt) }

// Work brings the order in line.
func (w *checkOrder) Work(ctx context.Context, job *river.Job[order.CheckArgs]) error {
	return outcome(w.orders.CheckOrder(ctx, job.Args.OrderID))
}

// ReconcileOrdersArgs is the periodic job that looks for orders whose check is due.
type ReconcileOrdersArgs struct{}

// Kind names the job.
func (ReconcileOrdersArgs) Kind() string { return "order_reconcile" }

type reconcileOrders struct {
	river.WorkerDefaults[ReconcileOrdersArgs]
	orders *order.Service
}

// Work gives them jobs.
func (w *reconcileOrders) Work(ctx context.Context, _ *river.Job[ReconcileOrdersArgs]) error {
	return outcome(w.orders.EnqueueDue(ctx))
}
