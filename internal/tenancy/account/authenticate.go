package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/signing"
)

// KeyPrefix begins every API key.
const KeyPrefix = "sk_live_"

// ErrBadCredential is the answer to a token or key that we didn't issue.
func ErrBadCredential() error {
	return problem.New(problem.Unauthenticated, "unauthenticated", "the bearer token is not valid")
}

func errKeyRevoked() error {
	return problem.New(problem.Unauthenticated, "key_revoked", "this API key was revoked")
}

func errKeyExpired() error {
	return problem.New(problem.Unauthenticated, "key_expired", "this API key has expired")
}

// Authenticate returns the caller of a token or API key. If the credential isn't
// valid, the problem's code says why. The handler sets the caller's IP and
// RequestID.
func (s *Service) Authenticate(ctx context.Context, bearer string) (tenancy.Caller, error) {
	hash := sha256.Sum256([]byte(bearer))
	if c, ok := s.cache.get(hash); ok {
		return c, nil
	}
	// Read before the row: if a revocation clears the cache in between, the put has no
	// effect.
	generation := s.cache.generation()
	var c tenancy.Caller
	var err error
	if strings.HasPrefix(bearer, KeyPrefix) {
		c, err = s.authenticateKey(ctx, hash)
	} else {
		c, err = s.authenticateToken(ctx, bearer)
	}
	if err != nil {
		return tenancy.Caller{}, err
	}
	s.cache.put(hash, c, generation)
	return c, nil
}

func (s *Service) authenticateKey(ctx context.Context, hash [sha256.Size]byte) (tenancy.Caller, error) {
	q := db.New(s.pool)
	row, err := q.GetAPIKeyByHash(ctx, hash[:])
	if errors.Is(err, pgx.ErrNoRows) {
		return tenancy.Caller{}, unknownKey(ctx, q, hash[:])
	}
	if err != nil {
		return tenancy.Caller{}, fmt.Errorf("get api key: %w", err)
	}
	key, now := row.APIKey, s.now()
	switch {
	case key.RevokedAt != nil:
		return tenancy.Caller{}, errKeyRevoked()
	case key.ExpiresAt != nil && !key.ExpiresAt.After(now):
		return tenancy.Caller{}, errKeyExpired()
	}
	if err := tenancy.CheckTenant(row.TenantStatus); err != nil {
		return tenancy.Caller{}, err
	}
	err = q.TouchAPIKey(ctx, db.TouchAPIKeyParams{TenantID: key.TenantID, ID: key.ID, Now: &now, Stale: new(now.Add(-lastUsedGrain))})
	if err != nil {
		return tenancy.Caller{}, fmt.Errorf("touch api key: %w", err)
	}
	return tenancy.Caller{
		TenantID: key.TenantID, APIKeyID: key.ID, Role: tenancy.Developer, Scopes: narrowed(tenancy.Developer, key.Scopes),
	}, nil
}

// unknownKey is the answer to a key without a row: key_revoked or key_expired for
// 400 days after the key ended, then ErrBadCredential.
func unknownKey(ctx context.Context, q *db.Queries, hash []byte) error {
	revoked, err := q.GetEndedAPIKey(ctx, hash)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrBadCredential()
	case err != nil:
		return fmt.Errorf("get ended api key: %w", err)
	case revoked:
		return errKeyRevoked()
	}
	return errKeyExpired()
}

func (s *Service) authenticateToken(ctx context.Context, bearer string) (tenancy.Caller, error) {
	c, err := s.parseToken(ctx, bearer)
	if errors.Is(err, signing.ErrInvalid) {
		s.log.Debug("token refused", "error", err)
		return tenancy.Caller{}, ErrBadCredential()
	}
	if err != nil {
		return tenancy.Caller{}, err
	}
	if c.Act != nil {
		return s.authenticateImpersonation(ctx, c)
	}
	row, err := db.New(s.pool).GetUserForToken(ctx, db.GetUserForTokenParams{TenantID: c.TenantID, ID: c.Subject, SignInID: c.SignIn})
	if errors.Is(err, pgx.ErrNoRows) {
		return tenancy.Caller{}, ErrBadCredential()
	}
	if err != nil {
		return tenancy.Caller{}, fmt.Errorf("get user: %w", err)
	}
	if err := tenancy.CheckTenant(row.TenantStatus); err != nil {
		return tenancy.Caller{}, err
	}
	if row.Status != userActive || row.TokenVersion != c.Version || c.SignIn != "" && row.LastSeenAt == nil {
		return tenancy.Caller{}, errTokenRevoked()
	}
	if row.LastSeenAt != nil {
		s.signIns.Seen(ctx, c.SignIn, *row.LastSeenAt)
	}
	role := tenancy.Role(row.Role)
	return tenancy.Caller{TenantID: c.TenantID, UserID: c.Subject, SignInID: c.SignIn, Role: role, Scopes: role.Scopes()}, nil
}

func errTokenRevoked() error {
	return problem.New(problem.Unauthenticated, "token_revoked", "this token was ended; log in again")
}

// narrowed returns those of the role's scopes that the key has.
func narrowed(role tenancy.Role, given []string) []tenancy.Scope {
	var out []tenancy.Scope
	for _, scope := range role.Scopes() {
		for _, g := range given {
			if string(scope) == g {
				out = append(out, scope)
			}
		}
	}
	return out
}
