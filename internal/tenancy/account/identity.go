package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// Identity is the caller with its rows.
type Identity struct {
	Tenant db.Tenant
	// User is nil for an API key.
	User *db.User
}

// GetIdentity returns the caller's tenant and user.
func (s *Service) GetIdentity(ctx context.Context, c tenancy.Caller) (Identity, error) {
	tenant, err := db.New(s.pool).GetTenant(ctx, c.TenantID)
	if err != nil {
		return Identity{}, fmt.Errorf("get tenant: %w", err)
	}
	if c.UserID == "" {
		return Identity{Tenant: tenant}, nil
	}
	user, err := s.GetCurrentUser(ctx, c)
	if err != nil {
		return Identity{}, err
	}
	return Identity{Tenant: tenant, User: &user}, nil
}

// GetCurrentUser returns the calling user.
func (s *Service) GetCurrentUser(ctx context.Context, c tenancy.Caller) (db.User, error) {
	user, err := db.New(s.pool).GetUser(ctx, db.GetUserParams{TenantID: c.TenantID, ID: c.UserID})
	if errors.Is(err, pgx.ErrNoRows) {
		return user, problem.Missing("user")
	}
	if err != nil {
		return user, fmt.Errorf("get user: %w", err)
	}
	return user, nil
}
