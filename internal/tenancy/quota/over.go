package quota

import (
	"context"
	"fmt"

	"showfloor/gen/db"
)

// OverLimit is a limit that a tenant exceeds.
type OverLimit struct {
	Limit Limit
	// Value is the limit in the tenant's plan, Have what the tenant has.
	Value, Have int64
}

// OverTx returns the limits that the tenant exceeds because its plan, or the plan's limits, were lowered. For RestreamTargets and
// SessionCapacity, Have is the largest number of one stream or open session. Limits of rates are not in the list, nor Viewers,
// because viewers leave by themselves. It reads in the caller's transaction.
func (s *Service) OverTx(ctx context.Context, through db.DBTX, tenantID string) ([]OverLimit, error) {
	q := db.New(through)
	row, err := q.GetTenantPlan(ctx, tenantID)
	if err != nil {
		return nil, fmt.Errorf("get plan: %w", err)
	}
	have, err := q.CountLimited(ctx, db.CountLimitedParams{TenantID: tenantID, Now: s.now()})
	if err != nil {
		return nil, fmt.Errorf("count what is limited: %w", err)
	}
	return over(row.Plan, have), nil
}

// over compares what a tenant has with the limits of its plan.
func over(p db.Plan, have db.CountLimitedRow) []OverLimit {
	list := []OverLimit{}
	for _, o := range []OverLimit{
		{Limit: Users, Have: have.Users},
		{Limit: APIKeys, Have: have.APIKeys},
		{Limit: LiveStreams, Have: have.LiveStreams},
		{Limit: SessionCapacity, Have: have.SessionCapacity},
		{Limit: WebhookEndpoints, Have: have.WebhookEndpoints},
		{Limit: RestreamTargets, Have: have.RestreamTargets},
	} {
		if o.Value = o.Limit.of(p); o.Have > o.Value {
			list = append(list, o)
		}
	}
	return list
}
