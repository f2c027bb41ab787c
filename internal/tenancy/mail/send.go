package mail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
)

// Statuses of mails.
const (
	statusPending = "pending"
	statusSent    = "sent"
	statusFailed  = "failed"
)

// Outcomes of attempts, for metrics.
const (
	outcomeSent     = "sent"
	outcomeRetrying = "retrying"
	outcomeFailed   = "failed"
)

// pauses are the pauses between attempts. The last one repeats until the mail
// becomes useless.
func pauses() []time.Duration {
	return []time.Duration{
		5 * time.Second, 15 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
	}
}

func pause(tries int) time.Duration {
	all := pauses()
	return all[min(tries, len(all)-1)]
}

// Send makes the attempt of a mail that is due and records its result. It
// returns when to call again, or the zero time if no further attempt follows.
// It may run twice; a mail that was sent twice has the same Message-ID.
func (s *Service) Send(ctx context.Context, mailID string) (again time.Time, err error) {
	m, err := db.New(s.config.Pool).GetMail(ctx, mailID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && m.Status != statusPending {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("get mail: %w", err)
	}
	now := s.config.Now()
	switch {
	case !m.ExpiresAt.After(now):
		return time.Time{}, s.markFailed(ctx, m, "it has expired")
	case m.NextAttemptAt != nil && m.NextAttemptAt.After(now):
		return *m.NextAttemptAt, nil
	}
	c, err := s.open(m)
	if err != nil {
		return time.Time{}, err
	}
	if s.config.Server == nil {
		return time.Time{}, s.keep(ctx, m, c)
	}
	err = s.config.Server.send(ctx, compose(s.config.From, m.Recipient, m.ID, c, m.CreatedAt))
	return s.record(ctx, m, err)
}

// record stores the result of an attempt.
func (s *Service) record(ctx context.Context, m db.Mail, sent error) (again time.Time, err error) {
	if sent == nil {
		s.config.Observe(outcomeSent)
		return time.Time{}, s.finish(ctx, m, statusSent, nil)
	}
	if ctx.Err() != nil { // the server stops, so the result says nothing about the mail server
		return time.Time{}, fmt.Errorf("send mail: %w", ctx.Err())
	}
	if no, final := errors.AsType[*finalError](sent); final {
		return time.Time{}, s.markFailed(ctx, m, no.Error())
	}
	again = s.config.Now().Add(pause(int(m.Tries)))
	if !again.Before(m.ExpiresAt) {
		return time.Time{}, s.markFailed(ctx, m, sent.Error())
	}
	s.config.Observe(outcomeRetrying)
	s.config.Log.WarnContext(ctx, "a mail could not be sent and is tried again",
		"mail", m.ID, "kind", m.Kind, "error", sent, "again", again)
	err = db.New(s.config.Pool).RecordMailAttempt(ctx, db.RecordMailAttemptParams{
		ID: m.ID, Error: new(sent.Error()), NextAttemptAt: &again,
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("record mail attempt: %w", err)
	}
	return again, nil
}

func (s *Service) markFailed(ctx context.Context, m db.Mail, why string) error {
	s.config.Observe(outcomeFailed)
	s.config.Log.ErrorContext(ctx, "a mail was not delivered", "mail", m.ID, "kind", m.Kind, "tries", m.Tries+1, "error", why)
	return s.finish(ctx, m, statusFailed, &why)
}

// finish ends the mail and erases its content.
func (s *Service) finish(ctx context.Context, m db.Mail, status string, why *string) error {
	// The result must be stored even if the server stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	err := db.New(s.config.Pool).FinishMail(ctx, db.FinishMailParams{ID: m.ID, Status: status, Error: why, Now: new(s.config.Now())})
	if err != nil {
		return fmt.Errorf("finish mail: %w", err)
	}
	return nil
}

// finishTime limits the statement that ends a mail.
const finishTime = 5 * time.Second

// keep shows the mail in the log and keeps it for the mailbox.
func (s *Service) keep(ctx context.Context, m db.Mail, c content) error {
	if !s.config.Mailbox {
		return s.markFailed(ctx, m, "SMTP_URL is not set")
	}
	kept, err := db.New(s.config.Pool).KeepMail(ctx, db.KeepMailParams{ID: m.ID, Now: new(s.config.Now())})
	if err != nil {
		return fmt.Errorf("keep mail: %w", err)
	}
	if kept > 0 {
		s.config.Log.InfoContext(ctx, "no SMTP_URL: this mail stays in the development mailbox",
			"to", m.Recipient, "subject", c.Subject, "text", c.Text)
	}
	return nil
}
