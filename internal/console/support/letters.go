package support

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/diskspace"
	"showfloor/internal/tenancy/mail"
)

const (
	// letterLife is how long a mail about a ticket may still be sent.
	letterLife = 24 * time.Hour
	// excerpt is how many characters of a message a mail shows.
	excerpt = 1000

	newKind   = "ticket_message"
	replyKind = "ticket_reply"
	// maxMails is how many mails about one tenant's messages the support gets in an hour. Further messages have no mail.
	maxMails = 60
)

// mailing is the mails' settings. They are read before the transaction begins.
type mailing struct {
	on bool
	to string
}

func (s *Service) mailing(ctx context.Context) (m mailing, err error) {
	m.on, m.to, err = s.config.Settings.TicketMails(ctx)
	m.on = m.on && s.config.Mails.Works()
	return m, err
}

// mailSupportTx mails a tenant's message to the support.
func (s *Service) mailSupportTx(ctx context.Context, tx pgx.Tx, m mailing, k db.Ticket, row posted) error {
	if !m.on || !mail.Deliverable(m.to) {
		return nil
	}
	now := s.config.Now()
	recent, err := s.config.Mails.CountOfTx(ctx, tx, k.TenantID, now.Add(-time.Hour), newKind)
	if err != nil {
		return err
	}
	if recent.Count >= maxMails {
		return nil
	}
	return s.config.Mails.PostTx(ctx, tx, mail.Letter{
		TenantID: k.TenantID, Kind: newKind, To: m.to, Until: now.Add(letterLife),
		Subject: fmt.Sprintf("Ticket #%d: %s", k.Number, k.Subject),
		Opening: append([]string{
			fmt.Sprintf("%s wrote to the support (ticket #%d, tenant %s, priority %s):", row.AuthorName, k.Number, k.TenantID, k.Priority),
		}, row.paragraphs()...),
		Closing: []string{fmt.Sprintf("Answer with POST /v1/admin/tickets/%s/reply. Answers to this mail are not read.", k.ID)},
	})
}

// mailRequesterTx mails an answer, or that the ticket is RESOLVED, to the user who asked. row is the answer; zero for none.
func (s *Service) mailRequesterTx(ctx context.Context, tx pgx.Tx, m mailing, k db.Ticket, opening string, row posted) error {
	if !m.on || k.RequesterID == nil || !mail.Deliverable(k.RequesterEmail) {
		return nil
	}
	return s.config.Mails.PostTx(ctx, tx, mail.Letter{
		TenantID: k.TenantID, Kind: replyKind, To: k.RequesterEmail, Until: s.config.Now().Add(letterLife),
		Subject: fmt.Sprintf("Ticket #%d: %s", k.Number, k.Subject),
		Opening: append([]string{fmt.Sprintf("Hello %s,", k.RequesterName), opening}, row.paragraphs()...),
		Closing: []string{fmt.Sprintf("Answer with POST /v1/me/tickets/%s/reply. Answers to this mail are not read.", k.ID)},
	})
}

// paragraphs returns the beginning of the message, and the names and sizes of its files. The mail has no bytes of them.
func (p posted) paragraphs() []string {
	list := paragraphs(p.Body)
	if len(p.Files) > 0 {
		list = append(list, "Download the files from the ticket:")
	}
	for _, f := range p.Files {
		list = append(list, fmt.Sprintf("“%s” (%s)", f.Name, diskspace.Bytes(uint64(f.SizeBytes))))
	}
	return list
}

// paragraphs returns the beginning of a text, a paragraph for each of its lines.
func paragraphs(text string) (list []string) {
	if r := []rune(text); len(r) > excerpt {
		text = string(r[:excerpt]) + "…"
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}
