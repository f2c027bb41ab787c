package overage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/usage"
)

// maxCapChanges is how often a tenant may change its spend cap in an hour: each change is audited, and can be announced by mail.
const maxCapChanges = 20

// Cap is a tenant's spend cap.
type Cap struct {
	// Cents is how much the tenant may be charged in a period; nil for no cap.
	Cents    *int64
	Currency string
}

// GetSpendCap returns the spend cap of the caller's tenant.
func (s *Service) GetSpendCap(ctx context.Context, c tenancy.Caller) (Cap, error) {
	payer, err := s.config.Subscriptions.GetPayerTx(ctx, s.config.Pool, c.TenantID)
	if err != nil {
		return Cap{}, err
	}
	row, err := spendCap(ctx, db.New(s.config.Pool), c.TenantID)
	return Cap{row.CapCents, payer.Currency}, err
}

// spendCap returns the row of a tenant's spend cap, without a cap if there is none.
func spendCap(ctx context.Context, q *db.Queries, tenantID string) (db.GetSpendCapRow, error) {
	row, err := q.GetSpendCap(ctx, tenantID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return row, fmt.Errorf("get spend cap: %w", err)
	}
	return row, nil
}

// SetSpendCap sets the spend cap of the caller's tenant; nil for none. Usage until now is charged with the cap until now, and a lower cap
// takes nothing back. A higher one also charges usage of the period that the lower one kept uncharged.
func (s *Service) SetSpendCap(ctx context.Context, c tenancy.Caller, cents *int64) (set Cap, err error) {
	err = s.open(ctx, c.TenantID, func(b *books) error {
		before, err := spendCap(ctx, b.q, c.TenantID)
		if err != nil {
			return err
		}
		set = Cap{cents, b.payer.Currency}
		if same(before.CapCents, cents) {
			return nil
		}
		changes, since, err := countChange(before, b.now)
		if err != nil {
			return err
		}
		if err := b.addUp(ctx); err != nil {
			return err
		}
		err = b.q.SetSpendCap(ctx, db.SetSpendCapParams{TenantID: c.TenantID, CapCents: cents, Changes: changes, Since: since, Now: b.now})
		if err != nil {
			return fmt.Errorf("set spend cap: %w", err)
		}
		if err := b.q.SetOverageCap(ctx, db.SetOverageCapParams{TenantID: c.TenantID, CapCents: cents, Now: b.now}); err != nil {
			return fmt.Errorf("set cap of period: %w", err)
		}
		// A higher cap charges more, which is reported soon.
		if _, err := s.config.Jobs.InsertTx(ctx, b.tx, ChargeArgs{TenantID: c.TenantID}, nil); err != nil {
			return fmt.Errorf("insert job to charge overage: %w", err)
		}
		postgres.AfterCommit(b.tx, func() { s.config.Usage.ForgetBlocksOf(c.TenantID) })
		return audit.WriteTx(ctx, b.q, b.now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "billing.set_spend_cap", Entity: "tenant", EntityID: c.TenantID,
			Before: map[string]any{"capCents": before.CapCents}, After: map[string]any{"capCents": cents},
		})
	})
	return set, err
}

// countChange counts a change of the cap, and refuses one too many in an hour.
func countChange(row db.GetSpendCapRow, now time.Time) (changes int32, since time.Time, err error) {
	if now.Sub(row.Since).Abs() >= time.Hour {
		return 1, now, nil
	}
	if row.Changes >= maxCapChanges {
		return 0, now, problem.Limited(row.Since.Add(time.Hour).Sub(now), "the spend cap can be changed %d times in an hour", maxCapChanges)
	}
	return row.Changes + 1, row.Since, nil
}

func same(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// ChargingTx returns whether and how far a tenant's usage can be charged (usage.Charges).
func (s *Service) ChargingTx(ctx context.Context, through db.DBTX, tenantID string) (usage.Charging, error) {
	charging, _, err := s.charging(ctx, through, tenantID)
	return charging, err
}

// charging returns the currency of the charges, too.
func (s *Service) charging(ctx context.Context, through db.DBTX, tenantID string) (c usage.Charging, currency string, err error) {
	payer, err := s.config.Subscriptions.GetPayerTx(ctx, through, tenantID)
	if err != nil {
		return c, "", err
	}
	q := db.New(through)
	row, err := spendCap(ctx, q, tenantID)
	if err != nil {
		return c, "", err
	}
	configured := s.config.Processor.Configured()
	c = usage.Charging{
		Available: payer.Chargeable && configured, Runs: payer.Runs && payer.SameCurrency && configured,
		CapCents: row.CapCents, Stored: map[usage.Meter]int64{}, Waived: map[usage.Meter]int64{},
	}
	stored, err := q.ListOverageCharges(ctx, db.ListOverageChargesParams{TenantID: tenantID, PeriodStarts: []time.Time{payer.From}})
	if err != nil {
		return c, "", fmt.Errorf("list charges: %w", err)
	}
	for _, x := range stored {
		c.Stored[usage.Meter(x.Meter)], c.Waived[usage.Meter(x.Meter)] = x.Cents, x.WaivedCents
	}
	return c, payer.Currency, nil
}
