package usage

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
)

// Overages: the consequence of usage above the included one.
const (
	// Block refuses new work of the meter.
	Block = "BLOCK"
	// Allow does nothing.
	Allow = "ALLOW"
	// Charge charges the usage above.
	Charge = "CHARGE"
)

// Allowances returns the allowances of all plans by tier, sorted by the order of UsageMeter.
func (s *Service) Allowances(ctx context.Context) (map[string][]db.PlanAllowance, error) {
	return sorted(listAllowances(ctx, db.New(s.pool)))
}

// AllowancesTx does the same as Allowances in a transaction.
func (*Service) AllowancesTx(ctx context.Context, tx pgx.Tx) (map[string][]db.PlanAllowance, error) {
	return sorted(listAllowances(ctx, db.New(tx)))
}

func sorted(all allowances, err error) (map[string][]db.PlanAllowance, error) {
	list := map[string][]db.PlanAllowance{}
	for tier, of := range all {
		for _, m := range shown() {
			if a, limited := of[m]; limited {
				list[tier] = append(list[tier], a)
			}
		}
	}
	return list, err
}

// ReplaceAllowancesTx replaces all allowances of a plan. The caller has locked the plan, and has checked that each meter is named
// once.
func (*Service) ReplaceAllowancesTx(ctx context.Context, tx pgx.Tx, tier string, list []db.PlanAllowance) error {
	q := db.New(tx)
	if err := q.DeleteAllowances(ctx, tier); err != nil {
		return fmt.Errorf("delete allowances: %w", err)
	}
	p := db.CreateAllowancesParams{Tier: tier}
	orNone := func(n *int64) int64 {
		if n == nil {
			return -1
		}
		return *n
	}
	for _, a := range list {
		p.Meters, p.Included, p.Overages = append(p.Meters, a.Meter), append(p.Included, a.Included), append(p.Overages, a.Overage)
		p.Prices, p.Units = append(p.Prices, orNone(a.OveragePriceCents)), append(p.Units, orNone(a.OverageUnits))
	}
	if err := q.CreateAllowances(ctx, p); err != nil {
		return fmt.Errorf("create allowances: %w", err)
	}
	return nil
}

// ReachedPercent returns the highest threshold of the included usage that is reached: 100, 80 or 0. If nothing is included,
// any usage reaches 100.
func (r Reading) ReachedPercent() int {
	switch {
	case r.Included == nil || r.Used == 0:
		return 0
	case r.Used >= *r.Included:
		return 100
	case r.Used >= *r.Included-*r.Included/5:
		return 80
	}
	return 0
}
