package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/order"
)

// finishRefund sees a refund through that may have been left half done.
type finishRefund struct {
	river.WorkerDefaults[order.FinishRefundArgs]
	orders *order.Service
}

// NextRetry is soon, however often the job has failed: somebody waits for money.
func (*finishRefund) NextRetry(job *river.Job[order.FinishRefundArgs]) time.Time {
	return soon(job.Attempt)
}

// Work does.
func (w *finishRefund) Work(ctx context.Context, job *river.Job[order.FinishRefundArgs]) error {
	return outcome(w.orders.FinishRefund(ctx, job.Args.RefundID))
}
