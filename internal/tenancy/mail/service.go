// Package mail writes mails in the transaction of the change that they report, and sends them from
// the queue. Without an SMTP server, in development, a mailbox on this machine shows them instead.
package mail

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/queue"
	"showfloor/internal/base/secret"
)

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	Box  *secret.Box
	Jobs queue.Inserter
	// Server is the SMTP server; nil if there is none.
	Server *Server
	// From is the sender of every mail.
	From *netmail.Address
	// Mailbox keeps mails and shows them in the log if there is no Server. It is for development
	// only, because mails contain codes and links.
	Mailbox bool
	// Observe is called with the result of each attempt, for metrics; nil for none.
	Observe func(outcome string)
	Log     *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. Each exported method makes all of its changes in one transaction:
// the caller's, if it takes one.
type Service struct {
	config Config
	checks checked
}

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Observe == nil {
		c.Observe = func(string) {}
	}
	return &Service{config: c}
}

// HasMailbox reports whether mails stay on this machine, for a developer to read.
func (s *Service) HasMailbox() bool { return s.config.Server == nil && s.config.Mailbox }

// Engine names the destination of mails, for people.
func (s *Service) Engine() string {
	switch {
	case s.config.Server != nil:
		return "SMTP " + s.config.Server.address()
	case s.HasMailbox():
		return "development mailbox"
	default:
		return "none, SMTP_URL is not set"
	}
}

// Works reports whether mails can be sent, or kept for a developer.
func (s *Service) Works() bool { return s.config.Server != nil || s.config.Mailbox }

// Require returns a problem if mails can't be sent, for operations that need a mail.
func (s *Service) Require() error {
	if !s.Works() {
		return problem.New(problem.Unavailable, "mail_unavailable", "this server can't send mail; ask its operator to set SMTP_URL")
	}
	return nil
}

// SendArgs is the job that makes all attempts for one mail.
type SendArgs struct {
	MailID string `json:"mailId" river:"unique"`
}

// Kind names the job.
func (SendArgs) Kind() string { return "mail_send" }

// InsertOpts ensures that a mail has only one job, and puts mails into a queue of their own, so
// that a slow mail server delays no other jobs.
func (SendArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue:      Queue,
		UniqueOpts: queue.Unfinished(),
	}
}

// Queue is the queue of mails, Workers how many are sent at a time.
const (
	Queue   = "mail"
	Workers = 4
)

// Deliverable reports whether a mail can be sent to this address. Some valid-looking addresses
// can't be used.
func Deliverable(address string) bool {
	to, err := netmail.ParseAddress(address)
	return err == nil && to.Address == address
}

// PostTx writes a mail and its job in the caller's transaction.
func (s *Service) PostTx(ctx context.Context, tx pgx.Tx, l Letter) error {
	if err := s.Require(); err != nil {
		return err
	}
	if !Deliverable(l.To) {
		return fmt.Errorf("post letter %s: the recipient is not an address", l.Kind)
	}
	written, err := l.render()
	if err != nil {
		return err
	}
	plain, err := json.Marshal(written)
	if err != nil {
		return fmt.Errorf("encode letter %s: %w", l.Kind, err)
	}
	p := db.CreateMailParams{
		ID: id.New(id.Mail), Kind: l.Kind, Recipient: l.To, ExpiresAt: l.Until, Now: s.config.Now(),
	}
	if l.TenantID != "" {
		p.TenantID = &l.TenantID
	}
	p.Content = s.config.Box.Seal(plain, sealContext(p.ID))
	if err := db.New(tx).CreateMail(ctx, p); err != nil {
		return fmt.Errorf("create mail: %w", err)
	}
	if _, err := s.config.Jobs.InsertTx(ctx, tx, SendArgs{MailID: p.ID}, nil); err != nil {
		return fmt.Errorf("insert mail job: %w", err)
	}
	return nil
}

// Recent is a number of mails. Oldest is when the first of them was posted.
type Recent struct {
	Count  int64
	Oldest time.Time
}

// CountToTx counts, in the caller's transaction, the mails of these kinds to an address that were
// posted after since, sent or not: those of all tenants, and those of one, which is "" for none.
func (s *Service) CountToTx(
	ctx context.Context, tx pgx.Tx, recipient, tenantID string, since time.Time, kinds ...string,
) (ofAll, ofTenant Recent, err error) {
	row, err := db.New(tx).CountRecentMailsTo(ctx, db.CountRecentMailsToParams{
		Recipient: recipient, TenantID: tenantID, Since: since, Kinds: kinds,
	})
	if err != nil {
		return ofAll, ofTenant, fmt.Errorf("count mails to an address: %w", err)
	}
	return Recent{row.OfAll, row.Oldest}, Recent{row.OfTenant, row.OldestOfTenant}, nil
}

// CountOfTx does the same as CountToTx for the mails of a tenant to all addresses.
func (s *Service) CountOfTx(ctx context.Context, tx pgx.Tx, tenantID string, since time.Time, kinds ...string) (Recent, error) {
	row, err := db.New(tx).CountRecentMailsOf(ctx, db.CountRecentMailsOfParams{TenantID: tenantID, Since: since, Kinds: kinds})
	if err != nil {
		return Recent{}, fmt.Errorf("count mails of a tenant: %w", err)
	}
	return Recent{row.Count, row.Oldest}, nil
}

// sealContext binds a sealed content to its row.
func sealContext(mailID string) string { return "mails/" + mailID }

func (s *Service) open(m db.Mail) (content, error) {
	var c content
	plain, err := s.config.Box.Open(m.Content, sealContext(m.ID))
	if err != nil {
		return c, fmt.Errorf("open mail %s: %w", m.ID, err)
	}
	if err := json.Unmarshal(plain, &c); err != nil {
		return c, fmt.Errorf("read mail %s: %w", m.ID, err)
	}
	return c, nil
}

// checkLife is how long the result of a check is cached. Readiness is public, and each login on
// a mail server is expensive.
const checkLife = 30 * time.Second

// checked holds the last result.
type checked struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// Check returns an error if the login on the mail server fails.
func (s *Service) Check(ctx context.Context) error {
	if s.config.Server == nil {
		return nil
	}
	s.checks.mu.Lock()
	defer s.checks.mu.Unlock()
	if now := s.config.Now(); s.checks.at.IsZero() || now.Sub(s.checks.at) >= checkLife {
		s.checks.err, s.checks.at = s.config.Server.check(ctx), now
	}
	return s.checks.err
}
