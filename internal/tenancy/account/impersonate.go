package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// ImpersonationLife is the life of an impersonating admin's token.
const ImpersonationLife = 30 * time.Minute

// endedLife is how long the end of an impersonation is kept after its token has expired. The clocks of servers differ by less.
const endedLife = time.Hour

// Impersonator is an admin with the login that makes a token.
type Impersonator struct {
	AdminID, SignInID string
	TokenVersion      int32
}

// Impersonators checks impersonating admins.
type Impersonators interface {
	// CheckImpersonator returns the email address of an admin who may impersonate. It returns a problem if the admin may not any more, or
	// if the login has ended.
	CheckImpersonator(ctx context.Context, who Impersonator) (email string, err error)
}

// AllowImpersonation sets the check of impersonating admins. Before, all their tokens are refused. Call it before the first request.
func (s *Service) AllowImpersonation(by Impersonators) { s.impersonators = by }

// Impersonated is a new token of an admin who acts in a tenant's name. User is nil for a first-party app.
type Impersonated struct {
	// ID is the token's id, which the audit entries of the impersonation name.
	ID        string
	Token     string
	ExpiresAt time.Time
	Tenant    db.Tenant
	User      *db.User
	ReadOnly  bool
}

// ImpersonateTx chooses the user in whose name an admin acts, and writes the audit entry. userID is nil for the oldest active OWNER. A
// tenant without users acts itself. After the commit, IssueImpersonation makes the token.
func (s *Service) ImpersonateTx(
	ctx context.Context, tx pgx.Tx, actor audit.Actor, tenantID string, userID *string, reason string,
) (Impersonated, error) {
	var out Impersonated
	var err error
	q := db.New(tx)
	if out.Tenant, err = q.LockTenant(ctx, tenantID); errors.Is(err, pgx.ErrNoRows) {
		return out, problem.Missing("tenant")
	}
	if err != nil {
		return out, fmt.Errorf("lock tenant: %w", err)
	}
	out.ID, out.ReadOnly = id.New(id.Token), tenancy.CheckTenant(out.Tenant.Status) != nil
	actor.ImpersonationID = out.ID
	if out.User, err = impersonatedUser(ctx, q, tenantID, userID); err != nil {
		return out, err
	}
	after := map[string]any{"userId": nil, "readOnly": out.ReadOnly}
	if out.User != nil {
		after["userId"] = out.User.ID
	}
	return out, audit.WriteTx(ctx, q, s.now(), audit.Entry{
		Actor: actor, TenantID: tenantID, Action: "tenant.impersonate", Entity: "tenant", EntityID: tenantID, Reason: reason, After: after,
	})
}

// impersonatedUser returns the user with the id, or the oldest active OWNER; nil for a tenant without users.
func impersonatedUser(ctx context.Context, q *db.Queries, tenantID string, userID *string) (*db.User, error) {
	if userID != nil {
		user, err := q.GetUser(ctx, db.GetUserParams{TenantID: tenantID, ID: *userID})
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil, problem.Missing("user")
		case err != nil:
			return nil, fmt.Errorf("get user: %w", err)
		case user.Status != userActive:
			return nil, problem.Conflicting("this user cannot log in; choose an active one")
		}
		return &user, nil
	}
	owners, err := q.ListActiveOwners(ctx, tenantID)
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	if len(owners) > 0 {
		return &owners[0], nil
	}
	users, err := q.CountPlatformUsers(ctx, &tenantID)
	if err != nil {
		return nil, fmt.Errorf("count users: %w", err)
	}
	if users > 0 {
		return nil, problem.Conflicting("this tenant has no active OWNER; choose a user with userId")
	}
	return nil, nil //nolint:nilnil // a first-party app has no users
}

// IssueImpersonation makes the token. It belongs to no login, so it isn't in the user's list, and it can't be renewed.
func (s *Service) IssueImpersonation(ctx context.Context, by Impersonator, out Impersonated) (Impersonated, error) {
	now := s.now()
	out.ExpiresAt = now.Add(ImpersonationLife)
	c := claims{
		TenantID: out.Tenant.ID, Role: tenancy.Admin, Type: tokenType, ReadOnly: out.ReadOnly,
		Act: &actClaim{Subject: by.AdminID, SignIn: by.SignInID, Version: by.TokenVersion},
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: out.Tenant.ID, ID: out.ID, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(out.ExpiresAt),
		},
	}
	if out.User != nil {
		c.Subject, c.Role, c.Version = out.User.ID, tenancy.Role(out.User.Role), out.User.TokenVersion
	}
	var err error
	out.Token, err = s.keys.Sign(ctx, c)
	return out, err
}

// EndImpersonation ends the impersonation of the caller's token; a second call has no effect. It returns the problem conflict for a token
// with which no admin acts.
func (s *Service) EndImpersonation(ctx context.Context, c tenancy.Caller) error {
	if c.Impersonation == nil {
		return problem.Conflicting("no admin acts with this token")
	}
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		ended, err := q.EndImpersonation(ctx, db.EndImpersonationParams{
			TokenID: c.Impersonation.TokenID, ExpiresAt: c.Impersonation.ExpiresAt, Before: now.Add(-endedLife),
		})
		if err != nil {
			return fmt.Errorf("end impersonation: %w", err)
		}
		if ended == 0 {
			return nil
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "tenant.end_impersonation", Entity: "tenant", EntityID: c.TenantID,
		})
	})
	s.cache.clear()
	return err
}

// authenticateImpersonation returns the caller of an impersonating admin's token.
func (s *Service) authenticateImpersonation(ctx context.Context, c claims) (tenancy.Caller, error) {
	caller, status, err := s.impersonating(ctx, c)
	// A read-only token was made to look at a suspended tenant.
	if err == nil && !c.ReadOnly {
		err = tenancy.CheckTenant(status)
	}
	if err != nil {
		return tenancy.Caller{}, err
	}
	return caller, nil
}

// AuthenticateEndingImpersonation does the same as Authenticate, and accepts an impersonating admin's token also while the tenant is
// suspended or cancelled. It is for EndImpersonation only, which takes access away.
func (s *Service) AuthenticateEndingImpersonation(ctx context.Context, bearer string) (tenancy.Caller, error) {
	caller, refusal := s.Authenticate(ctx, bearer)
	if !problem.Is(refusal, tenancy.SuspendedCode) {
		return caller, refusal
	}
	c, err := s.parseToken(ctx, bearer)
	if err != nil || c.Act == nil { // an API key, or a user's own token
		return tenancy.Caller{}, refusal
	}
	caller, _, err = s.impersonating(ctx, c)
	return caller, err
}

// impersonating returns the caller of an impersonating admin's token, and the status of the tenant, which it doesn't check.
func (s *Service) impersonating(ctx context.Context, c claims) (caller tenancy.Caller, tenantStatus string, err error) {
	if s.impersonators == nil {
		return tenancy.Caller{}, "", ErrBadCredential()
	}
	by := Impersonator{AdminID: c.Act.Subject, SignInID: c.Act.SignIn, TokenVersion: c.Act.Version}
	email, err := s.impersonators.CheckImpersonator(ctx, by)
	if err != nil {
		return tenancy.Caller{}, "", err
	}
	caller = tenancy.Caller{TenantID: c.TenantID, Role: c.Role, Impersonation: &tenancy.Impersonation{
		AdminID: c.Act.Subject, AdminEmail: email, TokenID: c.ID, ReadOnly: c.ReadOnly, ExpiresAt: c.ExpiresAt.Time,
	}}
	q := db.New(s.pool)
	if ended, err := q.HasImpersonationEnded(ctx, c.ID); err != nil {
		return tenancy.Caller{}, "", fmt.Errorf("look for the end of the impersonation: %w", err)
	} else if ended {
		return tenancy.Caller{}, "", errTokenRevoked()
	}
	if c.Subject == c.TenantID {
		tenant, err := q.GetTenant(ctx, c.TenantID)
		if err != nil {
			return tenancy.Caller{}, "", fmt.Errorf("get tenant: %w", err)
		}
		tenantStatus = tenant.Status
	} else {
		row, err := q.GetUserForToken(ctx, db.GetUserForTokenParams{TenantID: c.TenantID, ID: c.Subject})
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return tenancy.Caller{}, "", ErrBadCredential()
		case err != nil:
			return tenancy.Caller{}, "", fmt.Errorf("get user: %w", err)
		case row.Status != userActive || row.TokenVersion != c.Version:
			return tenancy.Caller{}, "", errTokenRevoked()
		}
		tenantStatus, caller.UserID, caller.Role = row.TenantStatus, c.Subject, tenancy.Role(row.Role)
	}
	caller.Scopes = caller.Role.Scopes()
	return caller, tenantStatus, nil
}
