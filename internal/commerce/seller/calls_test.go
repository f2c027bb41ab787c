package seller_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

// useUpCalls uses up the tenant's processor calls of the current minute, and
// returns that minute.
func useUpCalls(t *testing.T, s *apitest.Server, tenantID string) (minute time.Time) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), `
		UPDATE processor_calls SET calls = 30, minute = date_trunc('minute', now()) WHERE tenant_id = $1 RETURNING minute`, tenantID).Scan(&minute))
	return minute
}

// TestATenantsQueriesToTheProcessorAreLimited checks that, beyond the plan's processor
// calls per minute, the stored state is returned and no links are created.
func TestATenantsQueriesToTheProcessorAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	accountID := link(t, s, owner)
	var refused apitest.Response
	for {
		before := status(t, owner)
		require.NoError(t, s.Sandbox.SetCharges(accountID, !before.ChargesEnabled)) // without a webhook about it
		minute := useUpCalls(t, s, owner.TenantID)
		after := status(t, owner)
		refused = owner.Call(t, "POST", linkPath, landing())
		if minute.Equal(useUpCalls(t, s, owner.TenantID)) {
			require.Equal(t, before, after, "the stored state")
			break
		} // otherwise a new minute has begun since
	}
	p := refused.Problem(t, http.StatusTooManyRequests, "rate_limited")
	require.Equal(t, &api.ProblemLimit{Name: "maxProcessorCalls", Value: 30, Plan: api.PlanTierFREE, UpgradeTo: new(api.PlanTierSTARTER)}, p.Limit)
	require.Contains(t, p.Message, "the plan FREE allows 30 calls a minute to the payment processor; STARTER allows 60; try again in ")
}
