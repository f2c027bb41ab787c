package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/commerce/order"
)

// finishRefund completes a PENDING refund.
type finishRefund struct {
	river.WorkerDefaults[order.FinishRefundArgs]
	orders *order.Service
	clock
}

const (
	// eager is the number of attempts with short pauses. Together they take about an hour.
	eager = 60
	// After these attempts, each pause is longer than the one before by lateStep, up
	// to lateLimit.
	lateStep  = 10 * time.Second
	lateLimit = time.Hour
)

// NextRetry returns a time soon after the failure, because a buyer waits for the
// money. A refund that fails for long may fail permanently, such as after the seller has
// disconnected its account, so the pauses grow.
func (w *finishRefund) NextRetry(job *river.Job[order.FinishRefundArgs]) time.Time {
	if job.Attempt <= eager {
		return w.soon(job.Attempt)
	}
	return w.now().Add(min(time.Duration(job.Attempt)*lateStep, lateLimit))
}

// Work completes the refund, or snoozes while the processor is still executing it.
func (w *finishRefund) Work(ctx context.Context, job *river.Job[order.FinishRefundArgs]) error {
	return w.until(w.orders.FinishRefund(ctx, job.Args))
}
