package handlers_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const adminPlans = "/v1/admin/plans"

// planOf returns the plan of a tier as admins see it.
func planOf(t *testing.T, admin *apitest.Caller, tier api.PlanTier) (p api.AdminPlan) {
	t.Helper()
	var page api.AdminPlanPage
	admin.Call(t, "GET", adminPlans, nil).Into(t, 200, &page)
	require.Len(t, page.Items, 4)
	for _, item := range page.Items {
		if item.Tier == tier {
			admin.Call(t, "GET", adminPlans+"/"+item.ID, nil).Into(t, 200, &p)
			require.Equal(t, item, p)
		}
	}
	return p
}

// limits are all required limits, without a limit, except for some.
func limits(some map[string]any) map[string]any {
	all := map[string]any{
		"maxUsers": nil, "maxApiKeys": nil, "maxLiveStreams": nil, "maxViewers": nil, "maxSessionCapacity": nil,
		"maxWebhookEndpoints": nil, "maxRestreamTargets": nil, "recordingRetentionDays": nil,
	}
	maps.Copy(all, some)
	return all
}

// setAllowance makes one allowance the only one of FREE.
func setAllowance(t *testing.T, admin *apitest.Caller, meter string, included int, overage string) {
	t.Helper()
	admin.Call(t, "PATCH", adminPlans+"/"+planOf(t, admin, api.PlanTierFREE).ID, map[string]any{
		"allowances": []any{map[string]any{"meter": meter, "included": included, "overage": overage}},
	}).Is(t, 200)
}

func TestAdminsListAndChangePlans(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	admin := s.Admin(t, platform.SuperAdmin)
	s.Register(t)
	s.Register(t).SetPlan(t, "PRO")
	var page api.AdminPlanPage
	admin.Call(t, "GET", adminPlans+"?page=2&pageSize=3", nil).Into(t, 200, &page)
	require.Equal(t, []int{1, 2, 3, 4}, []int{len(page.Items), page.Page, page.PageSize, page.Total})
	admin.Call(t, "GET", adminPlans+"?page=3&pageSize=3", nil).Into(t, 200, &page)
	require.Empty(t, page.Items)
	before := planOf(t, admin, api.PlanTierPRO)
	require.Equal(t, 1, before.SubscriberCount)
	require.Len(t, before.Allowances, 8)
	require.Equal(t, new(api.PlanOverageALLOW), before.Allowances[0].Overage)

	var after api.AdminPlan
	r := admin.Call(t, "PATCH", adminPlans+"/"+before.ID, map[string]any{
		"name": "Pro 2", "priceCents": 10900, "yearlyPriceCents": nil, "trialDays": 0, "reason": "New prices",
		"limits": limits(map[string]any{"maxUsers": 30, "maxCaptureBytes": nil}),
		"allowances": []any{
			map[string]any{"meter": "PUSHES", "included": 5},
			map[string]any{"meter": "STREAM_MINUTES", "included": 10, "overage": "BLOCK"},
		},
	})
	r.Into(t, 200, &after)
	require.Equal(t, []any{"Pro 2", int64(10900), true, 0}, []any{after.Name, after.PriceCents, after.YearlyPriceCents.IsNull(), after.TrialDays})
	require.Equal(t, 30, after.Limits.MaxUsers.MustGet())
	require.True(t, after.Limits.MaxViewers.IsNull())
	require.True(t, after.Limits.MaxCaptureBytes.IsNull(), "null removes an optional limit")
	require.Equal(t, before.Limits.MaxProcessorCalls, after.Limits.MaxProcessorCalls, "an absent one keeps its value")
	require.Equal(t, api.PlanAllowances{
		{Meter: "STREAM_MINUTES", Included: 10, Overage: new(api.PlanOverageBLOCK)},
		{Meter: "PUSHES", Included: 5, Overage: new(api.PlanOverageALLOW)},
	}, after.Allowances)
	require.Equal(t, after, planOf(t, admin, api.PlanTierPRO))

	admin.Call(t, "PATCH", adminPlans+"/"+before.ID, map[string]any{"name": "Pro 2"}).Into(t, 200, &after)
	var log api.AuditPage
	admin.Call(t, "GET", "/v1/admin/audit?action=plan.*", nil).Into(t, 200, &log)
	require.Len(t, log.Items, 1, "a request that changes nothing is not in the log")
	e := log.Items[0]
	require.Equal(t, []any{"plan.update", "plan", before.ID, admin.UserID, "New prices", r.Header.Get("X-Request-Id")},
		[]any{e.Action, e.Entity, e.EntityID, e.ActorID, e.Reason.MustGet(), e.RequestID.MustGet()})
	require.EqualValues(t, 9900, e.Before.MustGet()["priceCents"])
	require.EqualValues(t, 10900, e.After.MustGet()["priceCents"])

	admin.Call(t, "PATCH", adminPlans+"/"+before.ID, map[string]any{"allowances": []any{}}).Into(t, 200, &after)
	require.Empty(t, after.Allowances)
}

func TestAllowancesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	admin := s.Admin(t, platform.SuperAdmin)
	p := planOf(t, admin, api.PlanTierSTARTER)
	one := func(fields map[string]any) []any {
		a := map[string]any{"meter": "PUSHES", "included": 5}
		maps.Copy(a, fields)
		return []any{a}
	}
	for field, list := range map[string][]any{
		"allowances[1].meter":             append(one(nil), one(nil)...),
		"allowances[0].overagePriceCents": one(map[string]any{"overage": "CHARGE", "overageUnits": 5}),
		"allowances[0].overageUnits":      one(map[string]any{"overage": "CHARGE", "overagePriceCents": 5}),
	} {
		bad := admin.Call(t, "PATCH", adminPlans+"/"+p.ID, map[string]any{"allowances": list}).Problem(t, 400, "invalid_input")
		require.Len(t, bad.Errors, 1)
		require.Equal(t, field, bad.Errors[0].Field)
	}
	bad := admin.Call(t, "PATCH", adminPlans+"/"+p.ID, map[string]any{
		"allowances": one(map[string]any{"overage": "BLOCK", "overagePriceCents": 5, "overageUnits": 5}),
	}).Problem(t, 400, "invalid_input")
	require.Len(t, bad.Errors, 2)
	require.Equal(t, p, planOf(t, admin, api.PlanTierSTARTER))
}

func TestPlansAreActivatedAndDeactivated(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	admin, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	starter := planOf(t, admin, api.PlanTierSTARTER)
	var p api.AdminPlan
	for range 2 {
		admin.Call(t, "POST", adminPlans+"/"+starter.ID+"/deactivate", nil).Into(t, 201, &p)
		require.False(t, p.Active)
	}
	statuses := atOnce(11, func() apitest.Response {
		return owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "Key"})
	})
	require.Equal(t, map[int]int{http.StatusCreated: 10, http.StatusForbidden: 1}, statuses)
	refusal := owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "Key"}).Problem(t, 403, "plan_limit")
	require.Equal(t, api.PlanTierPRO, *refusal.Limit.UpgradeTo, "a plan that can't be booked isn't named")
	for range 2 {
		admin.Call(t, "POST", adminPlans+"/"+starter.ID+"/activate", nil).Into(t, 201, &p)
		require.True(t, p.Active)
	}
	var log api.AuditPage
	admin.Call(t, "GET", "/v1/admin/audit?action=plan.*", nil).Into(t, 200, &log)
	require.Len(t, log.Items, 2)
	admin.Call(t, "POST", adminPlans+"/"+planOf(t, admin, api.PlanTierFREE).ID+"/deactivate", nil).Problem(t, 409, "conflict")
	for _, call := range [][2]string{{"GET", ""}, {"PATCH", ""}, {"POST", "/activate"}, {"POST", "/deactivate"}} {
		admin.Call(t, call[0], adminPlans+"/plan_unknown"+call[1], map[string]any{}).Problem(t, 404, "not_found")
	}
}

func TestThePlanDistribution(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	admin := s.Admin(t, platform.SuperAdmin)
	var d api.PlanDistribution
	admin.Call(t, "GET", "/v1/admin/dashboard/plan-distribution", nil).Into(t, 200, &d)
	require.Equal(t, 0, d.Total)
	require.Len(t, d.Plans, 4)
	s.Register(t)
	s.Register(t)
	s.Register(t).SetPlan(t, "PRO")
	s.Register(t).SetTenantStatus(t, "CANCELLED")
	admin.Call(t, "GET", "/v1/admin/dashboard/plan-distribution", nil).Into(t, 200, &d)
	require.Equal(t, 3, d.Total)
	require.Equal(t, []api.PlanShare{
		{Plan: "FREE", Tenants: 2, Percent: 66.7}, {Plan: "STARTER"}, {Plan: "PRO", Tenants: 1, Percent: 33.3}, {Plan: "ENTERPRISE"},
	}, d.Plans)
}

// TestOverListsWhatALoweredPlanLeaves checks that a lower plan takes nothing away, and that the tenant's billing status lists the limits
// that it exceeds.
func TestOverListsWhatALoweredPlanLeaves(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	require.Empty(t, billingStatus(t, owner, s).OverLimits)
	owner.SetPlan(t, "PRO")
	for range 6 {
		owner.Webhook(t, "http://127.0.0.1:1/")
	}
	owner.Session(t, map[string]any{"type": "webinar", "capacity": 300})
	owner.SetPlan(t, "FREE")
	have := map[string][2]int64{}
	for _, o := range billingStatus(t, owner, s).OverLimits {
		have[o.Limit] = [2]int64{o.Value, o.Have}
	}
	require.Equal(t, map[string][2]int64{"maxWebhookEndpoints": {5, 6}, "maxSessionCapacity": {100, 300}}, have)
}
