package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/mail"
)

// PasswordLinkArgs is the job that mails a link to set a new password, if the
// e-mail belongs to a user. The job looks that up, so that the time of the request
// doesn't reveal it.
type PasswordLinkArgs struct {
	Email     string `json:"email"`
	RequestID string `json:"requestId"`
	IP        string `json:"ip"`
}

// Kind is the job's name.
func (PasswordLinkArgs) Kind() string { return "password_mail_link" }

// InsertOpts puts the job into the queue of the mails, because it creates one.
func (PasswordLinkArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: mail.Queue} }

// ForgotPassword requests a mailed link to set a new password, if the e-mail
// belongs to a user. It returns the canonical e-mail.
func (s *Service) ForgotPassword(ctx context.Context, email string, from tenancy.Origin) (string, error) {
	if err := s.mails.Require(); err != nil {
		return "", err
	}
	email = CanonicalEmail(email)
	return email, postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		args := PasswordLinkArgs{Email: email, RequestID: from.RequestID, IP: from.IP}
		if _, err := s.jobs.InsertTx(ctx, tx, args, nil); err != nil {
			return fmt.Errorf("insert password link job: %w", err)
		}
		return nil
	})
}

// MailPasswordLink mails the link to an active user, also of a suspended tenant,
// up to maxResetsRecipient mails per mailPeriod. It may run twice: one request
// causes one mail.
func (s *Service) MailPasswordLink(ctx context.Context, a PasswordLinkArgs) error {
	return postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		found, err := q.GetUserByEmail(ctx, a.Email)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get user: %w", err)
		}
		user, err := q.LockUser(ctx, db.LockUserParams{TenantID: found.TenantID, ID: found.ID})
		if errors.Is(err, pgx.ErrNoRows) || err == nil && user.Status != userActive {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock user: %w", err)
		}
		recent, err := s.mailsTo(ctx, tx, user.Email, resetKind)
		if err != nil || recent.Count >= maxResetsRecipient {
			return err
		}
		before, err := q.GetPasswordLink(ctx, db.GetPasswordLinkParams{TenantID: user.TenantID, UserID: user.ID})
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("get password link: %w", err)
		}
		if err == nil && before.RequestID == a.RequestID {
			return nil
		}
		token, err := s.putPasswordLink(ctx, q, user, a.RequestID, now.Add(PasswordLinkLife))
		if err != nil {
			return err
		}
		if err := s.mails.PostTx(ctx, tx, resetLetter(user, s.pageLink("/reset-password", token), now.Add(PasswordLinkLife))); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: tenancy.Origin{IP: a.IP, RequestID: a.RequestID}.Component("password reset"), TenantID: user.TenantID,
			Action: "user.forgot_password", Entity: entityUser, EntityID: user.ID,
		})
	})
}

// ResetPassword sets a new password with the token of a mailed link, ends all of
// the user's tokens and mails a notice. It returns the user's e-mail and the time
// of the change.
func (s *Service) ResetPassword(ctx context.Context, token, password string, from tenancy.Origin) (email string, at time.Time, err error) {
	link, err := s.findPasswordLink(ctx, token)
	if err != nil {
		return "", at, err
	}
	hash, err := s.hasher.hash(ctx, password)
	if err != nil {
		return "", at, err
	}
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		at = s.now()
		user, err := s.usePasswordLink(ctx, q, link)
		if err != nil {
			return err
		}
		email = user.Email
		if _, err := s.setPassword(ctx, tx, user, hash); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, at, audit.Entry{
			Actor: from.User(user.ID), TenantID: user.TenantID, Action: "user.reset_password", Entity: entityUser, EntityID: user.ID,
		})
	})
	s.cache.clear()
	return email, at, err
}

// setPassword sets a locked user's password, ends the user's tokens and mailed
// links, and mails a notice.
func (s *Service) setPassword(ctx context.Context, tx pgx.Tx, user db.User, hash string) (db.User, error) {
	q, now := db.New(tx), s.now()
	user, err := q.SetUserPassword(ctx, db.SetUserPasswordParams{TenantID: user.TenantID, ID: user.ID, PasswordHash: hash, Now: now})
	if err != nil {
		return user, fmt.Errorf("set password: %w", err)
	}
	err = q.EndPasswordLink(ctx, db.EndPasswordLinkParams{TenantID: user.TenantID, UserID: user.ID, Now: &now})
	if err != nil {
		return user, fmt.Errorf("end password link: %w", err)
	}
	if !s.mails.Works() { // the change works without a mail
		return user, nil
	}
	return user, s.mails.PostTx(ctx, tx, changedLetter(user, now, s.publicURL))
}
