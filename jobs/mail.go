package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/tenancy/mail"
)

// sendMail sends a mail and snoozes between the attempts.
type sendMail struct {
	river.WorkerDefaults[mail.SendArgs]
	mails *mail.Service
	clock
}

// Work makes the attempt that is due.
func (w *sendMail) Work(ctx context.Context, job *river.Job[mail.SendArgs]) error {
	return w.until(w.mails.Send(ctx, job.Args.MailID))
}
