package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/order"
)

// finishRefund brings a PENDING refund to its end.
type finishRefund struct {
	river.WorkerDefaults[order.FinishRefundArgs]
	orders *order.Service
	clock
}

const (
	// eager is how many attempts are made with short pauses, about an hour long.
	eager = 60
	// From then on they grow by this, up to the longest.
	lateStep  = 10 * time.Second
	lateLimit = time.Hour
)

// NextRetry is soon: somebody waits for money. What fails for long may fail for good,
// as when the seller has cut the account off, and is tried less and less often.
func (w *finishRefund) NextRetry(job *river.Job[order.FinishRefundArgs]) time.Time {
	if job.Attempt <= eager {
		return w.soon(job.Attempt)
	}
	return w.now().Add(min(time.Duration(job.Attempt)*lateStep, lateLimit))
}

// Work does, or is put off while the processor has it and it is on its way.
func (w *finishRefund) Work(ctx context.Context, job *river.Job[order.FinishRefundArgs]) error {
	return w.until(w.orders.FinishRefund(ctx, job.Args))
}
