package console

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/account"
)

// ImpersonateTenant makes a token with which the calling admin acts as a user of the tenant; see account.Service.ImpersonateTx.
func (s *Service) ImpersonateTenant(
	ctx context.Context, c platform.Caller, tenantID string, userID *string, reason string,
) (account.Impersonated, error) {
	var out account.Impersonated
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) (err error) {
		out, err = s.accounts.ImpersonateTx(ctx, tx, c.Actor(), tenantID, userID, reason)
		return err
	})
	if err != nil {
		return account.Impersonated{}, err
	}
	return s.accounts.IssueImpersonation(ctx, impersonator(c), out)
}

func impersonator(c platform.Caller) account.Impersonator {
	return account.Impersonator{AdminID: c.AdminID, SignInID: c.SignInID, TokenVersion: c.TokenVersion}
}

// CheckImpersonator implements account.Impersonators.
func (s *Service) CheckImpersonator(ctx context.Context, who account.Impersonator) (email string, err error) {
	admin, err := s.checkLogin(ctx, who.AdminID, who.SignInID, who.TokenVersion)
	if err != nil {
		return "", err
	}
	if !admin.May(platform.AdminWrite) {
		return "", problem.New(problem.Unauthenticated, "token_revoked", "the admin may not impersonate any more")
	}
	return admin.Email, nil
}
