package quota

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

func TestTheRefusalNamesThePlanThatAllowsIt(t *testing.T) {
	t.Parallel()
	plans := []db.Plan{
		{Tier: "FREE", Active: true, MaxAPIKeys: new(int32(10))},
		{Tier: "STARTER", Active: true, MaxAPIKeys: new(int32(20))},
		{Tier: "PRO", Active: true, MaxAPIKeys: new(int32(20))},
		{Tier: "ENTERPRISE", Active: true},
	}
	withdrawn := append([]db.Plan{}, plans...)
	withdrawn[1].Active = false
	for _, c := range []struct {
		name    string
		plans   []db.Plan
		on      int
		needed  int64
		limit   problem.Limit
		message string
	}{
		{"the next one", plans, 0, 11, problem.Limit{Value: 10, Plan: "FREE", UpgradeTo: "STARTER"}, "the plan FREE allows 10 API keys; STARTER allows 20"},
		{"that can be booked", withdrawn, 0, 11, problem.Limit{Value: 10, Plan: "FREE", UpgradeTo: "PRO"}, "the plan FREE allows 10 API keys; PRO allows 20"},
		{"that allows it", plans, 0, 21, problem.Limit{Value: 10, Plan: "FREE", UpgradeTo: "ENTERPRISE"}, "the plan FREE allows 10 API keys; ENTERPRISE allows 1000"},
		{"none", plans, 3, 1001, problem.Limit{Value: 1000, Plan: "ENTERPRISE"}, "the plan ENTERPRISE allows 1000 API keys, and no plan allows more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refusal := exceeded(APIKeys, c.plans[c.on], c.plans, c.needed)
			c.limit.Name = "maxApiKeys"
			require.Equal(t, &c.limit, refusal.Limit)
			require.Equal(t, c.message, refusal.Message)
			require.Equal(t, problem.Forbidden, refusal.Kind)
			require.Equal(t, "plan_limit", refusal.Code)
		})
	}
}

// TestTheServersOwnBoundsHold: they apply also on plans that allow more.
func TestTheServersOwnBoundsHold(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 50, WebhookEndpoints.of(db.Plan{MaxWebhookEndpoints: new(int32(5000))}))
	require.EqualValues(t, 0, WebhookEndpoints.of(db.Plan{MaxWebhookEndpoints: new(int32(0))}))
	require.EqualValues(t, 1000, Users.of(db.Plan{}))
}
