package account

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// ChangePassword replaces the caller's password, ends all of the caller's tokens
// and issues a new one. It requires the current password, so a stolen token isn't
// enough.
func (s *Service) ChangePassword(ctx context.Context, c tenancy.Caller, current, next, userAgent string) (Login, error) {
	user, err := s.GetCurrentUser(ctx, c)
	if err != nil {
		return Login{}, err
	}
	ok, err := s.hasher.matches(ctx, current, user.PasswordHash)
	if err != nil {
		return Login{}, err
	}
	if !ok {
		return Login{}, ErrWrongPassword()
	}
	hash, err := s.hasher.hash(ctx, next)
	if err != nil {
		return Login{}, err
	}
	var l Login
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		locked, err := q.LockUser(ctx, db.LockUserParams{TenantID: c.TenantID, ID: c.UserID})
		if err != nil {
			return fmt.Errorf("lock user: %w", err)
		}
		if locked.PasswordHash != user.PasswordHash {
			return problem.Conflicting("the password was changed at the same moment; log in with the new one")
		}
		if l.User, err = s.setPassword(ctx, tx, locked, hash); err != nil {
			return err
		}
		if l.Tenant, err = q.GetTenant(ctx, c.TenantID); err != nil {
			return fmt.Errorf("get tenant: %w", err)
		}
		from := tenancy.Origin{IP: c.IP, RequestID: c.RequestID, UserAgent: userAgent}
		if l.SignIn, err = s.BeginSignInTx(ctx, tx, l.User, from); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "user.change_password", Entity: entityUser, EntityID: c.UserID,
		})
	})
	s.cache.clear()
	if err != nil {
		return Login{}, err
	}
	return s.withToken(ctx, l)
}
