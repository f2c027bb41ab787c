package account

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/mail"
)

// MailOwnersTx writes a mail to each active OWNER of a tenant. Owners whose address can't receive mail are left out. Without a mail
// server it does nothing.
func (s *Service) MailOwnersTx(ctx context.Context, tx pgx.Tx, tenantID string, letter func(owner db.User) mail.Letter) error {
	if s.mails == nil || !s.mails.Works() {
		return nil
	}
	owners, err := db.New(tx).ListActiveOwners(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("list owners: %w", err)
	}
	return s.mailTx(ctx, tx, owners, letter)
}

// maxAdministrators is how many owners and administrators of a tenant get a mail.
const maxAdministrators = 50

// MailAdministratorsTx does the same as MailOwnersTx for each active OWNER and ADMIN, at most maxAdministrators of them.
func (s *Service) MailAdministratorsTx(
	ctx context.Context, tx pgx.Tx, tenantID string, letter func(to db.User, tenant db.Tenant) mail.Letter,
) error {
	if s.mails == nil || !s.mails.Works() {
		return nil
	}
	q := db.New(tx)
	tenant, err := q.GetTenant(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("get tenant: %w", err)
	}
	users, err := q.ListAdministrators(ctx, db.ListAdministratorsParams{TenantID: tenantID, MaxRows: maxAdministrators})
	if err != nil {
		return fmt.Errorf("list administrators: %w", err)
	}
	return s.mailTx(ctx, tx, users, func(to db.User) mail.Letter { return letter(to, tenant) })
}

func (s *Service) mailTx(ctx context.Context, tx pgx.Tx, users []db.User, letter func(to db.User) mail.Letter) error {
	for _, u := range users {
		if !mail.Deliverable(u.Email) {
			continue
		}
		if err := s.mails.PostTx(ctx, tx, letter(u)); err != nil {
			return err
		}
	}
	return nil
}

// BillingContact returns the tenant's name and the e-mail address of its first active OWNER, which is empty if there is none.
func (s *Service) BillingContact(ctx context.Context, tenantID string) (name, email string, err error) {
	q := db.New(s.pool)
	tenant, err := q.GetTenant(ctx, tenantID)
	if err != nil {
		return "", "", fmt.Errorf("get tenant: %w", err)
	}
	owners, err := q.ListActiveOwners(ctx, tenantID)
	if err != nil {
		return "", "", fmt.Errorf("list owners: %w", err)
	}
	if len(owners) > 0 && mail.Deliverable(owners[0].Email) {
		email = owners[0].Email
	}
	return tenant.Name, email, nil
}
