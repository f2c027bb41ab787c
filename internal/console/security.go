package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/secondfactor"
	"showfloor/internal/tenancy/signin"
)

// GetAdminTotp returns the state of the caller's second factor.
func (s *Service) GetAdminTotp(ctx context.Context, c platform.Caller) (secondfactor.State, error) {
	return s.factors.Get(ctx, c.AdminID)
}

// BeginAdminTotp creates the secret of a second factor, which ConfirmAdminTotp enables.
func (s *Service) BeginAdminTotp(ctx context.Context, c platform.Caller, password string) (out secondfactor.Setup, err error) {
	err = s.withPassword(ctx, c, password, func(tx pgx.Tx, admin db.Admin) error {
		out, err = s.factors.BeginTx(ctx, tx, admin.ID, admin.Email)
		return err
	})
	return out, err
}

// ConfirmAdminTotp enables the second factor with a code of the app.
func (s *Service) ConfirmAdminTotp(ctx context.Context, c platform.Caller, code string) (out secondfactor.Codes, err error) {
	var refusal error
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		admin, err := lockAdmin(ctx, db.New(tx), c.AdminID)
		if err != nil {
			return err
		}
		var v secondfactor.Verdict
		out, v, err = s.factors.ConfirmTx(ctx, tx, admin.ID, code)
		if refusal = v.Refusal(); err != nil || refusal != nil {
			return err // the count of wrong codes commits
		}
		return s.noteFactor(ctx, tx, c.Actor(), admin, true)
	})
	return out, errors.Join(err, refusal)
}

// DisableAdminTotp deletes the caller's second factor. code is one of the app or a recovery code.
func (s *Service) DisableAdminTotp(ctx context.Context, c platform.Caller, password, code string) error {
	var refusal error
	err := s.withPassword(ctx, c, password, func(tx pgx.Tx, admin db.Admin) error {
		v, err := s.factors.DisableTx(ctx, tx, admin.ID, secondfactor.ProofOf(code))
		if refusal = v.Refusal(); err != nil || refusal != nil {
			return errors.Join(err, s.mailLock(ctx, tx, admin, v))
		}
		return s.noteFactor(ctx, tx, c.Actor(), admin, false)
	})
	return errors.Join(err, refusal)
}

// RenewAdminRecoveryCodes replaces the caller's recovery codes.
func (s *Service) RenewAdminRecoveryCodes(
	ctx context.Context, c platform.Caller, password, code string,
) (out secondfactor.Codes, err error) {
	var refusal error
	err = s.withPassword(ctx, c, password, func(tx pgx.Tx, admin db.Admin) error {
		var v secondfactor.Verdict
		out, v, err = s.factors.RenewTx(ctx, tx, admin.ID, secondfactor.ProofOf(code))
		if refusal = v.Refusal(); err != nil || refusal != nil {
			return errors.Join(err, s.mailLock(ctx, tx, admin, v))
		}
		return audit.WriteTx(ctx, db.New(tx), s.now(), audit.Entry{
			Actor: c.Actor(), Action: "admin.renew_recovery_codes", Entity: entityAdmin, EntityID: admin.ID,
		})
	})
	return out, errors.Join(err, refusal)
}

// entityAdmin is the entity of an admin in the audit log.
const entityAdmin = "admin"

// DisableAdministratorTotp deletes the second factor of another admin who has lost it, and ends that admin's tokens.
func (s *Service) DisableAdministratorTotp(ctx context.Context, c platform.Caller, adminID string) (db.Admin, error) {
	if adminID == c.AdminID {
		return db.Admin{}, problem.Conflicting("this is your own second factor; disable it with your password and a code")
	}
	var admin db.Admin
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		var err error
		if admin, err = lockAdmin(ctx, db.New(tx), adminID); err != nil {
			return err
		}
		admin, err = s.resetFactor(ctx, tx, c.Actor(), admin)
		return err
	})
	return admin, err
}

// ResetAdminTotp does the same for an operator who has a shell on the server.
func (s *Service) ResetAdminTotp(ctx context.Context, actor audit.Actor, email string) error {
	return s.changeAdminsTx(ctx, func(tx pgx.Tx, q *db.Queries) error {
		admin, err := adminByEmail(ctx, q, email)
		if err != nil {
			return err
		}
		_, err = s.resetFactor(ctx, tx, actor, admin)
		return err
	})
}

func (s *Service) resetFactor(ctx context.Context, tx pgx.Tx, actor audit.Actor, admin db.Admin) (db.Admin, error) {
	if err := s.factors.ResetTx(ctx, tx, admin.ID); err != nil {
		return admin, err
	}
	admin, err := db.New(tx).EndAdminTokens(ctx, db.EndAdminTokensParams{ID: admin.ID, Now: s.now()})
	if err != nil {
		return admin, fmt.Errorf("end admin tokens: %w", err)
	}
	return admin, s.noteFactor(ctx, tx, actor, admin, false)
}

// withPassword runs change on the caller's locked row if the password is right.
func (s *Service) withPassword(
	ctx context.Context, c platform.Caller, password string, change func(tx pgx.Tx, admin db.Admin) error,
) error {
	admin, err := s.GetCurrentAdmin(ctx, c)
	if err != nil {
		return err
	}
	ok, err := s.accounts.PasswordMatches(ctx, password, admin.PasswordHash)
	if err != nil {
		return err
	}
	if !ok {
		return account.ErrWrongPassword()
	}
	return postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		locked, err := lockAdmin(ctx, db.New(tx), admin.ID)
		if err != nil {
			return err
		}
		if locked.PasswordHash != admin.PasswordHash {
			return problem.Conflicting("the password was changed at the same moment; log in with the new one")
		}
		return change(tx, locked)
	})
}

func lockAdmin(ctx context.Context, q *db.Queries, adminID string) (db.Admin, error) {
	admin, err := q.LockAdmin(ctx, adminID)
	if errors.Is(err, pgx.ErrNoRows) {
		return admin, problem.Missing("admin")
	}
	if err != nil {
		return admin, fmt.Errorf("lock admin: %w", err)
	}
	return admin, nil
}

// noteFactor writes the audit entry of a change of an admin's second factor, and mails the admin.
func (s *Service) noteFactor(ctx context.Context, tx pgx.Tx, actor audit.Actor, admin db.Admin, enabled bool) error {
	now, action := s.now(), "admin.disable_totp"
	if enabled {
		action = "admin.enable_totp"
	}
	err := audit.WriteTx(ctx, db.New(tx), now, audit.Entry{
		Actor: actor, Action: action, Entity: entityAdmin, EntityID: admin.ID,
		Before: map[string]any{"enabled": !enabled}, After: map[string]any{"enabled": enabled},
	})
	if err != nil || s.mails == nil || !s.mails.Works() { // the change works without a mail; commands send none
		return err
	}
	return s.mails.PostTx(ctx, tx, account.FactorLetter(admin.Email, admin.Email, enabled, now, ""))
}

// mailLock mails the admin if the verdict locks the second factor. Only requests with the right password get here.
func (s *Service) mailLock(ctx context.Context, tx pgx.Tx, admin db.Admin, v secondfactor.Verdict) error {
	until, locks := v.Locks()
	if !locks || s.mails == nil || !s.mails.Works() || !mail.Deliverable(admin.Email) { // the lock works without a mail
		return nil
	}
	return s.mails.PostTx(ctx, tx, account.LockLetter(admin.Email, admin.Email, until, ""))
}

// ListAdminSignIns returns the caller's logins, newest first.
func (s *Service) ListAdminSignIns(ctx context.Context, c platform.Caller) ([]db.SignIn, error) {
	return s.signIns.List(ctx, signin.Holder{ID: c.AdminID, TokenVersion: c.TokenVersion})
}

// EndAdminSignIn ends one of the caller's logins.
func (s *Service) EndAdminSignIn(ctx context.Context, c platform.Caller, signInID string) (row db.SignIn, err error) {
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		if row, err = s.signIns.EndTx(ctx, tx, c.AdminID, signInID); err != nil {
			return err
		}
		return s.auditSignIns(ctx, tx, c, signInID)
	})
	s.accounts.ForgetCallers() // tokens with which the admin impersonates end too
	return row, err
}

// LogoutAdmin ends the login of an admin's token. It has no effect with a token that isn't valid, or that belongs to no login.
func (s *Service) LogoutAdmin(ctx context.Context, token string, from tenancy.Origin) error {
	c, err := s.Authenticate(ctx, token)
	if _, refused := problem.As(err); refused || err == nil && c.SignInID == "" {
		return nil
	}
	if err != nil {
		return err
	}
	c.IP, c.RequestID = from.IP, from.RequestID
	_, err = s.EndAdminSignIn(ctx, c, c.SignInID)
	return signin.Gone(err)
}

// EndOtherAdminSignIns ends all logins of the caller but the one of this call, and returns their number.
func (s *Service) EndOtherAdminSignIns(ctx context.Context, c platform.Caller) (ended int, err error) {
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		ids, err := s.signIns.EndOthersTx(ctx, tx, c.AdminID, c.SignInID)
		if ended = len(ids); err != nil || ended == 0 {
			return err
		}
		return s.auditSignIns(ctx, tx, c, ids...)
	})
	s.accounts.ForgetCallers()
	return ended, err
}

func (s *Service) auditSignIns(ctx context.Context, tx pgx.Tx, c platform.Caller, ids ...string) error {
	return audit.WriteTx(ctx, db.New(tx), s.now(), audit.Entry{
		Actor: c.Actor(), Action: "admin.end_logins", Entity: entityAdmin, EntityID: c.AdminID, Before: map[string]any{"logins": ids},
	})
}
