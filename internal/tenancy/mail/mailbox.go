package mail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// mailboxSize is how many mails the mailbox shows.
const mailboxSize = 100

// Kept is a mail in the development mailbox.
type Kept struct {
	ID, To, Kind, Subject, Text, HTML string
	At                                time.Time
}

// ListMailbox returns the last 100 mails, newest first, including those that
// are not sent yet.
func (s *Service) ListMailbox(ctx context.Context) ([]Kept, error) {
	if !s.HasMailbox() {
		return nil, problem.Missing("mailbox")
	}
	rows, err := db.New(s.config.Pool).ListUnsentMails(ctx, mailboxSize)
	if err != nil {
		return nil, fmt.Errorf("list mails: %w", err)
	}
	list := make([]Kept, len(rows))
	for i, m := range rows {
		if list[i], err = s.kept(m); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// GetMailboxMail returns one of them.
func (s *Service) GetMailboxMail(ctx context.Context, mailID string) (Kept, error) {
	if !s.HasMailbox() {
		return Kept{}, problem.Missing("mailbox")
	}
	m, err := db.New(s.config.Pool).GetUnsentMail(ctx, mailID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Kept{}, problem.Missing("mail")
	}
	if err != nil {
		return Kept{}, fmt.Errorf("get mail: %w", err)
	}
	return s.kept(m)
}

func (s *Service) kept(m db.Mail) (Kept, error) {
	c, err := s.open(m)
	if err != nil {
		return Kept{}, err
	}
	return Kept{ID: m.ID, To: m.Recipient, Kind: m.Kind, Subject: c.Subject, Text: c.Text, HTML: c.HTML, At: m.CreatedAt}, nil
}
