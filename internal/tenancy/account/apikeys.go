package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/quota"
)

// lastUsedGrain is the precision of lastUsedAt. It saves writes.
const lastUsedGrain = time.Minute

// APIKeyInput describes a new key.
type APIKeyInput struct {
	Name string
	// Scopes is nil for all scopes that both a DEVELOPER and the caller have.
	Scopes []tenancy.Scope
	// ExpiresAt is nil for a key that never expires.
	ExpiresAt *time.Time
}

// ListAPIKeys pages through the tenant's keys, newest first. cursor is the id
// after which the page starts, nil for the first page.
func (s *Service) ListAPIKeys(ctx context.Context, c tenancy.Caller, cursor *string, limit int) ([]db.APIKey, error) {
	rows, err := db.New(s.pool).ListAPIKeys(ctx, db.ListAPIKeysParams{TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list api keys: %w", err)
	}
	return rows, nil
}

// CreateAPIKey creates a key. Only this call returns the whole key. Keys that are
// neither revoked nor expired count towards the plan's maxApiKeys: 403 plan_limit
// above it. A tenant can create 1,000 keys in 24 hours: 429 rate_limited above
// that.
func (s *Service) CreateAPIKey(ctx context.Context, c tenancy.Caller, in APIKeyInput) (row db.APIKey, key string, err error) {
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		row, key, err = s.createKey(ctx, tx, c, c.Actor(), in)
		return err
	})
	return row, key, err
}

// CreateTenantKeyTx does the same as CreateAPIKey for an admin, who can grant all scopes of a DEVELOPER.
func (s *Service) CreateTenantKeyTx(
	ctx context.Context, tx pgx.Tx, actor audit.Actor, tenantID string, in APIKeyInput,
) (row db.APIKey, key string, err error) {
	c := tenancy.Caller{TenantID: tenantID, Role: tenancy.Developer, Scopes: tenancy.Developer.Scopes()}
	return s.createKey(ctx, tx, c, actor, in)
}

// createKey creates a key within the tenant's limits, with scopes that the caller has.
func (s *Service) createKey(
	ctx context.Context, tx pgx.Tx, c tenancy.Caller, actor audit.Actor, in APIKeyInput,
) (row db.APIKey, key string, err error) {
	scopes, err := grantable(c, in.Scopes)
	if err != nil {
		return row, "", err
	}
	q, now := db.New(tx), s.now()
	if in.ExpiresAt != nil && !in.ExpiresAt.After(now) {
		return row, "", problem.BadField("expiresAt", "must be in the future")
	}
	if err := s.checkKeyLimits(ctx, tx, c.TenantID); err != nil {
		return row, "", err
	}
	parent, expiresAt, err := s.parentKey(ctx, q, c, in.ExpiresAt)
	if err != nil {
		return row, "", err
	}
	key = s.newKey()
	hash := sha256.Sum256([]byte(key))
	row, err = q.CreateAPIKey(ctx, db.CreateAPIKeyParams{
		ID: id.New(id.APIKey), TenantID: c.TenantID, Name: in.Name, KeyHash: hash[:], ParentID: parent,
		Prefix: KeyPrefix, Last4: key[len(key)-4:], Scopes: scopes, ExpiresAt: expiresAt, Now: now,
	})
	if err != nil {
		return row, "", fmt.Errorf("create api key: %w", err)
	}
	return row, key, audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: actor, TenantID: c.TenantID, Action: "api_key.create", Entity: "api_key", EntityID: row.ID,
		After: map[string]any{"name": row.Name, "scopes": row.Scopes, "expiresAt": row.ExpiresAt},
	})
}

// checkKeyLimits checks whether the tenant may have another key, and create another one today.
func (s *Service) checkKeyLimits(ctx context.Context, tx pgx.Tx, tenantID string) error {
	q, now := db.New(tx), s.now()
	err := s.quotas.CheckTx(ctx, tx, tenantID, quota.APIKeys, 1, func(ctx context.Context) (int64, error) {
		return q.CountAPIKeys(ctx, db.CountAPIKeysParams{TenantID: tenantID, Now: now})
	})
	if err != nil {
		return err
	}
	return s.quotas.CheckDayTx(ctx, tx, tenantID, quota.APIKeys,
		func(ctx context.Context, since time.Time, skipped int32) (time.Time, error) {
			return q.GetAPIKeyCreation(ctx, db.GetAPIKeyCreationParams{TenantID: tenantID, Since: since, Skipped: skipped})
		})
}

// RevokeAPIKey revokes a key at once, and the keys that were created with it.
// Revoking again has no effect.
func (s *Service) RevokeAPIKey(ctx context.Context, c tenancy.Caller, keyID string) (db.APIKey, error) {
	var row db.APIKey
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) (err error) {
		row, err = s.RevokeTenantKeyTx(ctx, tx, c.Actor(), c.TenantID, keyID)
		return err
	})
	s.cache.clear()
	return row, err
}

// RevokeTenantKeyTx does the same as RevokeAPIKey in a transaction, for any actor. Call ForgetCallers after the commit.
func (s *Service) RevokeTenantKeyTx(ctx context.Context, tx pgx.Tx, actor audit.Actor, tenantID, keyID string) (db.APIKey, error) {
	q, now := db.New(tx), s.now()
	row, err := q.LockAPIKey(ctx, db.LockAPIKeyParams{TenantID: tenantID, ID: keyID})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, problem.Missing("API key")
	}
	if err != nil {
		return row, fmt.Errorf("lock api key: %w", err)
	}
	if row.RevokedAt != nil {
		return row, nil
	}
	// Repeat until no key is left. A key that was being created meanwhile is visible
	// only to the next statement. Once the row of its parent key is revoked, the
	// parent can't create another key.
	for revoked := int64(1); revoked > 0; {
		revoked, err = q.RevokeAPIKeys(ctx, db.RevokeAPIKeysParams{TenantID: tenantID, ID: keyID, Now: &now})
		if err != nil {
			return row, fmt.Errorf("revoke api key: %w", err)
		}
	}
	row.RevokedAt = &now
	return row, audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: actor, TenantID: tenantID, Action: "api_key.revoke", Entity: "api_key", EntityID: keyID,
		Before: map[string]any{"name": row.Name},
	})
}

// parentKey is the calling key that creates another key, nil if a user calls. The
// new key can't expire after its parent: otherwise the parent's expiry would have
// no effect.
func (s *Service) parentKey(
	ctx context.Context, q *db.Queries, c tenancy.Caller, wanted *time.Time,
) (parent *string, expiresAt *time.Time, err error) {
	if c.APIKeyID == "" {
		return nil, wanted, nil
	}
	row, err := q.LockAPIKey(ctx, db.LockAPIKeyParams{TenantID: c.TenantID, ID: c.APIKeyID})
	if err != nil {
		return nil, nil, fmt.Errorf("lock parent api key: %w", err)
	}
	if row.RevokedAt != nil {
		return nil, nil, errKeyRevoked()
	}
	if row.ExpiresAt != nil && (wanted == nil || wanted.After(*row.ExpiresAt)) {
		wanted = row.ExpiresAt
	}
	return &row.ID, wanted, nil
}

// grantable returns the scopes of a new key. A caller can grant only scopes that
// it has itself.
func grantable(c tenancy.Caller, asked []tenancy.Scope) ([]string, error) {
	names := []string{}
	if asked == nil {
		for _, scope := range tenancy.Developer.Scopes() {
			if c.May(scope) {
				names = append(names, string(scope))
			}
		}
		return names, nil
	}
	for _, scope := range asked {
		if !slices.Contains(tenancy.Developer.Scopes(), scope) {
			return nil, problem.New(problem.Forbidden, "forbidden", "a key has the role DEVELOPER, which lacks the scope %s", scope)
		}
		if !c.May(scope) {
			return nil, problem.New(problem.Forbidden, "forbidden", "you don't have the scope %s, so the key can't have it", scope)
		}
		if !slices.Contains(names, string(scope)) {
			names = append(names, string(scope))
		}
	}
	return names, nil
}
