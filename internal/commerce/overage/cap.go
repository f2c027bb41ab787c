package overage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
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
	payer, err := s.config.Subscriptions.GetPayer(ctx, through, tenantID)
	if err != nil {
		return usage.Charging{}, err
	}
	cents, err := spendCap(ctx, db.New(through), tenantID)
	return usage.Charging{Available: payer.Chargeable && s.config.Processor.Configured(), CapCents: cents}, err
}

// Spending is the charge of a tenant's present period.
type Spending struct {
	Cap

	// Available: usage above the included one can be charged.
	Available bool
	// Cents is the charge so far.
	Cents int64
}

// ReachedPercent returns the highest threshold of the spend cap that is reached: 100, 80 or 0.
func (s Spending) ReachedPercent() int { return capPercent(s.Cap.Cents, s.Cents) }

// GetSpending returns the charge of a tenant's usage, which GetUsage has returned. A charge that is stored already never becomes less.
func (s *Service) GetSpending(ctx context.Context, tenantID string, p usage.Period) (Spending, error) {
	q := db.New(s.config.Pool)
	limit, err := s.capOf(ctx, s.config.Pool, tenantID)
	if err != nil {
		return Spending{}, err
	}
	charging, err := s.Charging(ctx, s.config.Pool, tenantID)
	if err != nil {
		return Spending{}, err
	}
	stored, err := q.ListOverageCharges(ctx, db.ListOverageChargesParams{TenantID: tenantID, PeriodStarts: []time.Time{p.From}})
	if err != nil {
		return Spending{}, fmt.Errorf("list charges: %w", err)
	}
	charges := map[usage.Meter]int64{}
	for _, c := range stored {
		charges[usage.Meter(c.Meter)] = c.Cents
	}
	out := Spending{Cap: limit, Available: charging.Available}
	room := newRoom(limit.Cents, charges)
	for _, r := range p.Readings {
		charges[r.Meter] = room.raise(charges[r.Meter], r.OverageCents())
	}
	for _, cents := range charges {
		out.Cents += cents
	}
	if !out.Available && len(stored) == 0 {
		out.Cents = 0
	}
	return out, nil
}
