package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/commerce/auction"
)

// settleAuction ends an auction at its end time. Late bids may have moved that
// time since the job was added.
type settleAuction struct {
	river.WorkerDefaults[auction.SettleArgs]
	auctions *auction.Service
}

// Work ends the auction, or snoozes until its end.
func (w *settleAuction) Work(ctx context.Context, job *river.Job[auction.SettleArgs]) error {
	wait, err := w.auctions.SettleAuction(ctx, job.Args.TenantID, job.Args.AuctionID)
	if err == nil && wait > 0 {
		return river.JobSnooze(wait)
	}
	return outcome(err)
}
