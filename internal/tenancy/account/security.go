package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/secondfactor"
	"showfloor/internal/tenancy/signin"
)

// GetTotp returns the state of the caller's second factor.
func (s *Service) GetTotp(ctx context.Context, c tenancy.Caller) (secondfactor.State, error) {
	return s.factors.Get(ctx, c.UserID)
}

// BeginTotp creates the secret of a second factor, which ConfirmTotp enables.
func (s *Service) BeginTotp(ctx context.Context, c tenancy.Caller, password string) (out secondfactor.Setup, err error) {
	err = s.withPassword(ctx, c, password, func(tx pgx.Tx, user db.User) error {
		out, err = s.factors.BeginTx(ctx, tx, user.ID, user.Email)
		return err
	})
	return out, err
}

// ConfirmTotp enables the second factor with a code of the app.
func (s *Service) ConfirmTotp(ctx context.Context, c tenancy.Caller, code string) (out secondfactor.Codes, err error) {
	var refusal error
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		user, err := db.New(tx).LockUser(ctx, db.LockUserParams{TenantID: c.TenantID, ID: c.UserID})
		if err != nil {
			return fmt.Errorf("lock user: %w", err)
		}
		var v secondfactor.Verdict
		out, v, err = s.factors.ConfirmTx(ctx, tx, user.ID, code)
		if refusal = v.Refusal(); err != nil || refusal != nil {
			return err // the count of wrong codes commits
		}
		return s.noteFactor(ctx, tx, c.Actor(), user, true)
	})
	return out, errors.Join(err, refusal)
}

// DisableTotp deletes the caller's second factor. code is one of the app or a recovery code.
func (s *Service) DisableTotp(ctx context.Context, c tenancy.Caller, password, code string) error {
	var refusal error
	err := s.withPassword(ctx, c, password, func(tx pgx.Tx, user db.User) error {
		v, err := s.factors.DisableTx(ctx, tx, user.ID, secondfactor.ProofOf(code))
		if refusal = v.Refusal(); err != nil || refusal != nil {
			return errors.Join(err, s.mailLock(ctx, tx, user, v))
		}
		return s.noteFactor(ctx, tx, c.Actor(), user, false)
	})
	return errors.Join(err, refusal)
}

// RenewRecoveryCodes replaces the caller's recovery codes.
func (s *Service) RenewRecoveryCodes(ctx context.Context, c tenancy.Caller, password, code string) (out secondfactor.Codes, err error) {
	var refusal error
	err = s.withPassword(ctx, c, password, func(tx pgx.Tx, user db.User) error {
		var v secondfactor.Verdict
		out, v, err = s.factors.RenewTx(ctx, tx, user.ID, secondfactor.ProofOf(code))
		if refusal = v.Refusal(); err != nil || refusal != nil {
			return errors.Join(err, s.mailLock(ctx, tx, user, v))
		}
		return audit.WriteTx(ctx, db.New(tx), s.now(), audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "user.renew_recovery_codes", Entity: entityUser, EntityID: user.ID,
		})
	})
	return out, errors.Join(err, refusal)
}

// DisableTeamMemberTotp deletes the second factor of a colleague who has lost it, and ends the colleague's tokens.
func (s *Service) DisableTeamMemberTotp(ctx context.Context, c tenancy.Caller, memberID string) (db.TeamMember, error) {
	var row db.TeamMember
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		user, err := q.LockUser(ctx, db.LockUserParams{TenantID: c.TenantID, ID: memberID})
		if errors.Is(err, pgx.ErrNoRows) {
			return problem.Missing("team member")
		}
		if err != nil {
			return fmt.Errorf("lock user: %w", err)
		}
		if err := checkFactorReset(c, user); err != nil {
			return err
		}
		row, err = s.resetFactor(ctx, tx, c.Actor(), user)
		return err
	})
	s.cache.clear()
	return row, err
}

// DisableUserTotp does the same with any user, for a platform admin: a tenant's only OWNER has no colleague who may do it.
func (s *Service) DisableUserTotp(ctx context.Context, actor audit.Actor, userID string) (PlatformUser, error) {
	var found PlatformUser
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		var err error
		if found, err = lockPlatformUser(ctx, q, userID); err != nil {
			return err
		}
		if found.Status == userInvited {
			return errInvited()
		}
		user, err := q.LockUser(ctx, db.LockUserParams{TenantID: found.TenantID, ID: userID})
		if err != nil {
			return fmt.Errorf("lock user: %w", err)
		}
		found.TeamMember, err = s.resetFactor(ctx, tx, actor, user)
		return err
	})
	s.cache.clear()
	return found, err
}

// resetFactor deletes the second factor of a locked user, and ends the user's tokens.
func (s *Service) resetFactor(ctx context.Context, tx pgx.Tx, by audit.Actor, user db.User) (db.TeamMember, error) {
	if err := s.factors.ResetTx(ctx, tx, user.ID); err != nil {
		return db.TeamMember{}, err
	}
	user, err := db.New(tx).EndUserTokens(ctx, db.EndUserTokensParams{TenantID: user.TenantID, ID: user.ID, Now: s.now()})
	if err != nil {
		return db.TeamMember{}, fmt.Errorf("end user tokens: %w", err)
	}
	return MemberOfUser(user), s.noteFactor(ctx, tx, by, user, false)
}

// checkFactorReset checks whether a caller may delete the second factor of a member.
func checkFactorReset(c tenancy.Caller, member db.User) error {
	if member.ID == c.UserID {
		return problem.Conflicting("this is your own second factor; disable it with your password and a code")
	}
	return checkRoleChange(c.Role, tenancy.Role(member.Role), tenancy.Role(member.Role))
}

// withPassword runs change on the caller's locked row if the password is right.
func (s *Service) withPassword(
	ctx context.Context, c tenancy.Caller, password string, change func(tx pgx.Tx, user db.User) error,
) error {
	user, err := s.GetCurrentUser(ctx, c)
	if err != nil {
		return err
	}
	ok, err := s.hasher.matches(ctx, password, user.PasswordHash)
	if err != nil {
		return err
	}
	if !ok {
		return ErrWrongPassword()
	}
	return postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		locked, err := db.New(tx).LockUser(ctx, db.LockUserParams{TenantID: c.TenantID, ID: c.UserID})
		if err != nil {
			return fmt.Errorf("lock user: %w", err)
		}
		if locked.PasswordHash != user.PasswordHash {
			return problem.Conflicting("the password was changed at the same moment; log in with the new one")
		}
		return change(tx, locked)
	})
}

// ErrWrongPassword is the answer to a wrong password of a caller who is logged in.
func ErrWrongPassword() error {
	return problem.New(problem.Invalid, "wrong_password", "the current password is wrong")
}

// noteFactor writes the audit entry of a change of a user's second factor, and mails the user.
func (s *Service) noteFactor(ctx context.Context, tx pgx.Tx, by audit.Actor, user db.User, enabled bool) error {
	now, action := s.now(), "user.disable_totp"
	if enabled {
		action = "user.enable_totp"
	}
	err := audit.WriteTx(ctx, db.New(tx), now, audit.Entry{
		Actor: by, TenantID: user.TenantID, Action: action, Entity: entityUser, EntityID: user.ID,
		Before: map[string]any{"enabled": !enabled}, After: map[string]any{"enabled": enabled},
	})
	if err != nil || !s.mails.Works() { // the change works without a mail
		return err
	}
	l := FactorLetter(user.Email, user.Name, enabled, now, s.publicURL+"/reset-password")
	l.TenantID = user.TenantID
	return s.mails.PostTx(ctx, tx, l)
}

// mailLock mails the user if the verdict locks the second factor. Only requests with the right password get here.
func (s *Service) mailLock(ctx context.Context, tx pgx.Tx, user db.User, v secondfactor.Verdict) error {
	until, locks := v.Locks()
	if !locks || !s.mails.Works() || !mail.Deliverable(user.Email) { // the lock works without a mail
		return nil
	}
	l := LockLetter(user.Email, user.Name, until, s.publicURL+"/reset-password")
	l.TenantID = user.TenantID
	return s.mails.PostTx(ctx, tx, l)
}

// ListSignIns returns the caller's logins, newest first.
func (s *Service) ListSignIns(ctx context.Context, c tenancy.Caller) ([]db.SignIn, error) {
	user, err := s.GetCurrentUser(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.signIns.List(ctx, signin.Holder{ID: user.ID, TokenVersion: user.TokenVersion})
}

// EndSignIn ends one of the caller's logins.
func (s *Service) EndSignIn(ctx context.Context, c tenancy.Caller, signInID string) (row db.SignIn, err error) {
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		if row, err = s.signIns.EndTx(ctx, tx, c.UserID, signInID); err != nil {
			return err
		}
		return s.auditSignIns(ctx, tx, c, signInID)
	})
	if _, refused := problem.As(err); !refused {
		s.cache.clear()
	}
	return row, err
}

// Logout ends the login of a user's token. It has no effect with a token that isn't valid, or that belongs to no login.
func (s *Service) Logout(ctx context.Context, token string, from tenancy.Origin) error {
	c, err := s.Authenticate(ctx, token)
	if _, refused := problem.As(err); refused || err == nil && c.SignInID == "" {
		return nil
	}
	if err != nil {
		return err
	}
	c.IP, c.RequestID = from.IP, from.RequestID
	_, err = s.EndSignIn(ctx, c, c.SignInID)
	return signin.Gone(err)
}

// EndOtherSignIns ends all logins of the caller but the one of this call, and returns their number.
func (s *Service) EndOtherSignIns(ctx context.Context, c tenancy.Caller) (ended int, err error) {
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		ids, err := s.signIns.EndOthersTx(ctx, tx, c.UserID, c.SignInID)
		if ended = len(ids); err != nil || ended == 0 {
			return err
		}
		return s.auditSignIns(ctx, tx, c, ids...)
	})
	if ended > 0 || err != nil {
		s.cache.clear()
	}
	return ended, err
}

func (s *Service) auditSignIns(ctx context.Context, tx pgx.Tx, c tenancy.Caller, ids ...string) error {
	return audit.WriteTx(ctx, db.New(tx), s.now(), audit.Entry{
		Actor: c.Actor(), TenantID: c.TenantID, Action: "user.end_logins", Entity: entityUser, EntityID: c.UserID,
		Before: map[string]any{"logins": ids},
	})
}
