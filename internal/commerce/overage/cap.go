package overage

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/usage"
)

// Cap is a tenant's spend cap.
type Cap struct {
	// Cents is how much the tenant may be charged in a period; nil for no cap.
	Cents    *int64
	Currency string
}

// GetSpendCap returns the spend cap of the caller's tenant.
func (s *Service) GetSpendCap(ctx context.Context, c tenancy.Caller) (Cap, error) {
	return s.capOf(ctx, s.config.Pool, c.TenantID)
}

func (s *Service) capOf(ctx context.Context, through db.DBTX, tenantID string) (Cap, error) {
	payer, err := s.config.Subscriptions.GetPayer(ctx, through, tenantID)
	if err != nil {
		return Cap{}, err
	}
	cents, err := spendCap(ctx, db.New(through), tenantID)
	return Cap{cents, payer.Currency}, err
}

// spendCap returns a tenant's spend cap; nil for none.
func spendCap(ctx context.Context, q *db.Queries, tenantID string) (*int64, error) {
	cents, err := q.GetSpendCap(ctx, tenantID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("get spend cap: %w", err)
	}
	return cents, nil
}

// SetSpendCap sets the spend cap of the caller's tenant; nil for none. A job adds up the charge with it.
func (s *Service) SetSpendCap(ctx context.Context, c tenancy.Caller, cents *int64) (set Cap, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		if _, err := q.LockTenant(ctx, c.TenantID); err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		before, err := s.capOf(ctx, tx, c.TenantID)
		if err != nil {
			return err
		}
		set = Cap{cents, before.Currency}
		if same(before.Cents, cents) {
			return nil
		}
		if err := q.SetSpendCap(ctx, db.SetSpendCapParams{TenantID: c.TenantID, CapCents: cents, Now: now}); err != nil {
			return fmt.Errorf("set spend cap: %w", err)
		}
		if _, err := s.config.Jobs.InsertTx(ctx, tx, ChargeArgs{TenantID: c.TenantID}, nil); err != nil {
			return fmt.Errorf("insert job to charge overage: %w", err)
		}
		postgres.AfterCommit(tx, s.config.Usage.ForgetBlocks)
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "billing.set_spend_cap", Entity: "tenant", EntityID: c.TenantID,
			Before: map[string]any{"capCents": before.Cents}, After: map[string]any{"capCents": cents},
		})
	})
	return set, err
}

func same(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// Charging returns whether a tenant's usage can be charged, and its spend cap (usage.Charges).
func (s *Service) Charging(ctx context.Context, through db.DBTX, tenantID string) (usage.Charging, error) {
	charging, _, err := s.charging(ctx, through, tenantID)
	return charging, err
}

func (s *Service) charging(ctx context.Context, through db.DBTX, tenantID string) (usage.Charging, subscription.Payer, error) {
	payer, err := s.config.Subscriptions.GetPayer(ctx, through, tenantID)
	if err != nil {
		return usage.Charging{}, payer, err
	}
	cents, err := spendCap(ctx, db.New(through), tenantID)
	return usage.Charging{Available: payer.Chargeable && s.config.Processor.Configured(), CapCents: cents}, payer, err
}
