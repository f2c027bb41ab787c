package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/tenancy/account"
)

// mailCodeAgain gives a sign-up form a new code and mails it.
type mailCodeAgain struct {
	river.WorkerDefaults[account.ResendCodeArgs]
	accounts *account.Service
}

// Work mails the code, if the form exists.
func (w *mailCodeAgain) Work(ctx context.Context, job *river.Job[account.ResendCodeArgs]) error {
	return outcome(w.accounts.MailCodeAgain(ctx, job.Args))
}

// mailPasswordLink mails a link to set a new password.
type mailPasswordLink struct {
	river.WorkerDefaults[account.PasswordLinkArgs]
	accounts *account.Service
}

// Work mails the link, if the address belongs to a user.
func (w *mailPasswordLink) Work(ctx context.Context, job *river.Job[account.PasswordLinkArgs]) error {
	return outcome(w.accounts.MailPasswordLink(ctx, job.Args))
}
