package jobs

import (
	"context"
	"errors"

	"github.com/riverqueue/river"

	"showfloor/internal/account"
	"showfloor/internal/idempotency"
	"showfloor/internal/mail"
	"showfloor/internal/stream"
	"showfloor/internal/tester"
	"showfloor/internal/webhook"
)

// RetentionArgs is the periodic job that deletes what is older than we keep.
type RetentionArgs struct{}

// Kind names the job.
func (RetentionArgs) Kind() string { return "retention" }

type retention struct {
	river.WorkerDefaults[RetentionArgs]
	accounts *account.Service
	streams  *stream.Service
	webhooks *webhook.Service
	mails    *mail.Service
	tester   *tester.Service

	idempotency *idempotency.Service
}

// Work deletes in each area; one area's failure doesn't keep the others from it.
func (w *retention) Work(ctx context.Context, _ *river.Job[RetentionArgs]) error {
	return errors.Join(w.webhooks.DeleteOld(ctx), w.streams.DeleteOld(ctx), w.mails.DeleteOld(ctx), w.accounts.DeleteOld(ctx),
		w.tester.DeleteOld(ctx), w.idempotency.DeleteOld(ctx))
}
