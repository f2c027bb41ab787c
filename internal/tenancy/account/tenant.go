package account

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// GetTenant is the caller's tenant.
func (s *Service) GetTenant(ctx context.Context, c tenancy.Caller) (db.Tenant, error) {
	row, err := db.New(s.pool).GetTenant(ctx, c.TenantID)
	if err != nil {
		return row, fmt.Errorf("get tenant: %w", err)
	}
	return row, nil
}

// TenantChange holds the values that a tenant may change about itself; nil keeps a value.
type TenantChange struct{ Name *string }

// UpdateTenant changes the caller's tenant.
func (s *Service) UpdateTenant(ctx context.Context, c tenancy.Caller, change TenantChange) (db.Tenant, error) {
	var row db.Tenant
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		before, err := q.LockTenant(ctx, c.TenantID)
		if err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		if change.Name == nil || *change.Name == before.Name {
			row = before
			return nil
		}
		if row, err = q.UpdateTenant(ctx, db.UpdateTenantParams{ID: c.TenantID, Name: change.Name, Now: now}); err != nil {
			return fmt.Errorf("update tenant: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "tenant.update", Entity: "tenant", EntityID: c.TenantID,
			Before: map[string]any{"name": before.Name}, After: map[string]any{"name": row.Name},
		})
	})
	return row, err
}
