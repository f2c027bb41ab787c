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
	"showfloor/internal/tenancy/audit"
)

// SuspendTenant suspends a tenant and ends its activities.
func (s *Service) SuspendTenant(ctx context.Context, c platform.Caller, tenantID, reason string) (Tenant, error) {
	return s.changeTenant(ctx, tenantID, func(tx pgx.Tx, before db.Tenant) error {
		if err := maySuspend(before.Status); err != nil {
			return err
		}
		q, now := db.New(tx), s.now()
		if err := q.SuspendTenant(ctx, db.SuspendTenantParams{ID: tenantID, Reason: &reason, Now: now}); err != nil {
			return fmt.Errorf("suspend tenant: %w", err)
		}
		err := audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: tenantID, Action: "tenant.suspend", Entity: "tenant", EntityID: tenantID, Reason: reason,
			Before: map[string]any{"status": before.Status}, After: map[string]any{"status": tenancy.Suspended},
		})
		if err != nil {
			return err
		}
		for _, stopper := range s.stoppers {
			if err := stopper.StopTenantTx(ctx, tx, tenantID); err != nil {
				return err
			}
		}
		return nil
	})
}

// UnsuspendTenant restores the status that a suspended tenant had before.
func (s *Service) UnsuspendTenant(ctx context.Context, c platform.Caller, tenantID string) (Tenant, error) {
	return s.changeTenant(ctx, tenantID, func(tx pgx.Tx, before db.Tenant) error {
		if before.Status != tenancy.Suspended {
			return problem.Conflicting("this tenant is not suspended")
		}
		q, now, status := db.New(tx), s.now(), tenancy.Active
		if before.StatusBeforeSuspension != nil {
			status = *before.StatusBeforeSuspension
		}
		if err := q.UnsuspendTenant(ctx, db.UnsuspendTenantParams{ID: tenantID, Status: status, Now: now}); err != nil {
			return fmt.Errorf("unsuspend tenant: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: tenantID, Action: "tenant.unsuspend", Entity: "tenant", EntityID: tenantID,
			Before: map[string]any{"status": before.Status, "reason": before.SuspensionReason}, After: map[string]any{"status": status},
		})
	})
}

// changeTenant runs change on the locked tenant and returns the changed tenant.
func (s *Service) changeTenant(ctx context.Context, tenantID string, change func(tx pgx.Tx, before db.Tenant) error) (Tenant, error) {
	var after Tenant
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		before, err := q.LockTenant(ctx, tenantID)
		if errors.Is(err, pgx.ErrNoRows) {
			return problem.Missing("tenant")
		}
		if err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		if err := change(tx, before); err != nil {
			return err
		}
		after, err = getTenant(ctx, q, tenantID)
		return err
	})
	s.accounts.ForgetCallers()
	return after, err
}

// maySuspend returns an error if a tenant with this status can't be suspended.
func maySuspend(status string) error {
	switch status {
	case tenancy.Suspended:
		return problem.Conflicting("this tenant is suspended already")
	case tenancy.Cancelled:
		return problem.Conflicting("this tenant is cancelled")
	default:
		return nil
	}
}
