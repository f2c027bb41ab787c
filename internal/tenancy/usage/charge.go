package usage

import (
	"context"
	"fmt"
	"math/bits"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// MaxOverageCents is the highest charge in a period, which the processor's invoices can still hold.
const MaxOverageCents = 99_999_999

// Charging says whether and how far a tenant can be charged for usage above the included one.
type Charging struct {
	// Available: new usage can be charged. Otherwise the overage Charge refuses new work like Block.
	Available bool
	// Runs: usage of work that runs is charged.
	Runs bool
	// CapCents is the tenant's spend cap for a period; nil for none.
	CapCents *int64
	// Stored are the charges of the period that are stored already, and Waived is the price of usage that stays uncharged.
	Stored, Waived map[Meter]int64
}

// Cents is the charge of a period: the price of the usage above the included one, up to the spend cap, and never less than the stored
// charges.
func (c Charging) Cents(p Period) int64 {
	stored, priced := int64(0), int64(0)
	for _, r := range p.Readings {
		stored += c.Stored[r.Meter]
		priced += max(c.Stored[r.Meter], r.OverageCents()-c.Waived[r.Meter])
	}
	if !c.Runs {
		return stored
	}
	return max(stored, min(priced, c.limit()))
}

// Charges returns what holds for a tenant. It reads through the given connection, so that a caller's transaction needs no second one.
type Charges func(ctx context.Context, through db.DBTX, tenantID string) (Charging, error)

// FollowCharges sets the function that knows whom usage can be charged. Call it before the service is used.
func (s *Service) FollowCharges(charges Charges) { s.charges = charges }

// TierTx returns a tenant's plan. It reads through the given connection.
func (*Service) TierTx(ctx context.Context, through db.DBTX, tenantID string) (string, error) {
	tier, err := db.New(through).GetTenantTier(ctx, tenantID)
	if err != nil {
		return "", fmt.Errorf("get plan: %w", err)
	}
	return tier, nil
}

// limit is the spend cap, or MaxOverageCents without one.
func (c Charging) limit() int64 {
	if c.CapCents == nil {
		return MaxOverageCents
	}
	return min(MaxOverageCents, *c.CapCents)
}

// OverageCents is the price of usage above the included one: of each units that are begun, at most MaxOverageCents.
func OverageCents(used, included, priceCents, units int64) int64 {
	if used <= included || units <= 0 || priceCents <= 0 {
		return 0
	}
	begun := (used-included-1)/units + 1
	high, low := bits.Mul64(uint64(begun), uint64(priceCents))
	if high > 0 || low > MaxOverageCents {
		return MaxOverageCents
	}
	return int64(low)
}

// OverageCents is the price of the usage above the included one, without the spend cap. It is 0 unless the overage is Charge.
func (r Reading) OverageCents() int64 {
	if r.Included == nil || r.Overage != Charge {
		return 0
	}
	return OverageCents(r.Used, *r.Included, r.PriceCents, r.Units)
}

// SpendCapName is the name of the spend cap in refusals.
const SpendCapName = "spendCapCents"

func spendCapReached(plan string, capCents int64, r Reading) *problem.Error {
	refusal := problem.New(problem.Forbidden, "plan_limit",
		"the included %s are used up, and the spend cap of %d cents is reached; an administrator can raise it", r.Meter, capCents)
	refusal.Limit = &problem.Limit{Name: SpendCapName, Value: capCents, Plan: plan}
	return refusal
}
