package apitest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/mail"
)

// mailServer returns the server for mails; nil for the mailbox.
func (o Options) mailServer(t testing.TB) *mail.Server {
	t.Helper()
	if o.SMTP == "" {
		return nil
	}
	server, err := mail.ParseURL(o.SMTP)
	must(t, err)
	return server
}

// MailsTo returns the mails to an address in the server's mailbox, newest
// first, whether or not a worker has processed them.
func (s *Server) MailsTo(t testing.TB, address string) []mail.Kept {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), "SELECT id FROM mails WHERE recipient = $1 ORDER BY id DESC", address)
	must(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	var list []mail.Kept
	for _, mailID := range ids {
		m, err := s.Mails.GetMailboxMail(t.Context(), mailID)
		must(t, err)
		list = append(list, m)
	}
	return list
}

// LastMail returns the newest mail to an address.
func (s *Server) LastMail(t testing.TB, address string) mail.Kept {
	t.Helper()
	list := s.MailsTo(t, address)
	if len(list) == 0 {
		t.Fatalf("no mail to %s", address)
	}
	return list[0]
}

// Code returns the code in the text of a mail.
func Code(t testing.TB, text string) string {
	t.Helper()
	return found(t, text, `(?m)^ {4}([0-9]{6})$`)
}

// LinkToken returns the token of the link in the text of a mail.
func LinkToken(t testing.TB, text string) string {
	t.Helper()
	return found(t, text, `(?m)^https?://\S+\?token=([0-9A-Za-z]{43})$`)
}

func found(t testing.TB, text, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("the mail has no %s:\n%s", pattern, text)
	}
	return match[1]
}

// WorkMailJobs runs the jobs that choose the recipients of mails, for this
// address. Each call runs all of them again.
func (s *Server) WorkMailJobs(t testing.TB, address string) {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), `SELECT kind, args FROM river_job
		WHERE kind = ANY ($1) AND args->>'email' = $2 ORDER BY id`,
		[]string{account.ResendCodeArgs{}.Kind(), account.PasswordLinkArgs{}.Kind()}, address)
	must(t, err)
	var works []func() error
	for rows.Next() {
		var kind string
		var args json.RawMessage
		must(t, rows.Scan(&kind, &args))
		works = append(works, s.mailJob(t, kind, args))
	}
	must(t, rows.Err())
	for _, work := range works {
		must(t, work())
	}
}

func (s *Server) mailJob(t testing.TB, kind string, args json.RawMessage) func() error {
	t.Helper()
	switch kind {
	case account.ResendCodeArgs{}.Kind():
		var a account.ResendCodeArgs
		must(t, json.Unmarshal(args, &a))
		return func() error { return s.Accounts.MailCodeAgain(t.Context(), a) }
	case account.PasswordLinkArgs{}.Kind():
		var a account.PasswordLinkArgs
		must(t, json.Unmarshal(args, &a))
		return func() error { return s.Accounts.MailPasswordLink(t.Context(), a) }
	default:
		return func() error { return fmt.Errorf("no such job: %s", kind) }
	}
}
