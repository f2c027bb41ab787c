package announcement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy/mail"
)

const (
	// tenantsAtOnce is how many tenants one transaction mails.
	tenantsAtOnce = 50
	// letterLife is how long a mail may still be sent.
	letterLife = 3 * 24 * time.Hour
)

// Mail mails a PUBLISHED announcement to the OWNERs and ADMINs of its audience, some tenants in each transaction. The row has the last
// tenant, so that a repeated call mails no tenant twice.
func (s *Service) Mail(ctx context.Context, announcementID string) error {
	for {
		more, err := s.mailSome(ctx, announcementID)
		if err != nil || !more {
			return err
		}
	}
}

func (s *Service) mailSome(ctx context.Context, announcementID string) (more bool, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		more = false
		a, err := q.LockAnnouncement(ctx, announcementID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock announcement: %w", err)
		}
		if at(a, now).Status != Published {
			return nil
		}
		after := ""
		if a.MailedUntil != nil {
			after = *a.MailedUntil
		}
		ids, err := q.ListTenantsToMail(ctx, db.ListTenantsToMailParams{
			After: after, PublishedAt: *a.PublishedAt, Audience: a.Audience, MaxRows: tenantsAtOnce,
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, tenantID := range ids {
			err := s.config.Accounts.MailAdministratorsTx(ctx, tx, tenantID, func(to db.User, _ db.Tenant) mail.Letter {
				return letter(a, to, now)
			})
			if err != nil {
				return err
			}
		}
		more = len(ids) == tenantsAtOnce
		return q.SetAnnouncementMailed(ctx, db.SetAnnouncementMailedParams{ID: a.ID, MailedUntil: ids[len(ids)-1]})
	})
	return more, err
}

func letter(a db.Announcement, to db.User, now time.Time) mail.Letter {
	l := mail.Letter{
		TenantID: to.TenantID, Kind: "announcement", To: to.Email, Subject: a.Title, Until: now.Add(letterLife),
		Opening: []string{fmt.Sprintf("Hello %s,", to.Name)},
		Closing: []string{"You get this mail because you administer a tenant of this platform."},
	}
	for line := range strings.Lines(a.Body) {
		if line = strings.TrimSpace(line); line != "" {
			l.Opening = append(l.Opening, line)
		}
	}
	return l
}
