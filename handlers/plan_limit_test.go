package handlers_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/testkit/apitest"
)

// atOnce sends a request n times at the same time and counts the answers by status.
func atOnce(n int, call func() apitest.Response) map[int]int {
	var mu sync.Mutex
	statuses := map[int]int{}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			status := call().Status
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	wg.Wait()
	return statuses
}

// TestAPlanBoundsAPIKeys checks that concurrent requests create exactly as many
// keys as the plan allows. Revoked and expired keys don't count.
func TestAPlanBoundsAPIKeys(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, neighbour := s.Register(t), s.Register(t)
	create := func() apitest.Response {
		return owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "Key"})
	}
	require.Equal(t, map[int]int{http.StatusCreated: 10, http.StatusForbidden: 40}, atOnce(50, create))
	p := create().Problem(t, http.StatusForbidden, "plan_limit")
	require.Equal(t, "the plan FREE allows 10 API keys; STARTER allows 20", p.Message)
	require.Equal(t, &api.ProblemLimit{
		Name: "maxApiKeys", Value: 10, Plan: api.PlanTierFREE, UpgradeTo: new(api.PlanTierSTARTER),
	}, p.Limit)
	neighbour.Key(t)

	var keys []api.APIKey
	owner.Call(t, "GET", "/v1/me/api-keys", nil).Into(t, 200, &keys)
	require.Len(t, keys, 10)
	owner.Call(t, "DELETE", "/v1/me/api-keys/"+keys[0].ID, nil).Is(t, 200)
	soon := s.Clock.Now().Add(time.Minute).UTC().Format(time.RFC3339)
	owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "Key", "expiresAt": soon}).Is(t, http.StatusCreated)
	create().Problem(t, http.StatusForbidden, "plan_limit")
	s.Clock.Advance(time.Minute)
	create().Is(t, http.StatusCreated)
	create().Problem(t, http.StatusForbidden, "plan_limit")
}

// TestAPlanBoundsUsers checks that open invitations count and expired ones don't.
// An invitation can be sent again, and accepted, on a full team.
func TestAPlanBoundsUsers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.Colleague(t, "VIEWER")
	var n atomic.Int64
	statuses := atOnce(20, func() apitest.Response {
		return invite(t, owner, fmt.Sprintf("guest%d.%s", n.Add(1), owner.Email), "VIEWER")
	})
	require.Equal(t, map[int]int{http.StatusCreated: 3, http.StatusForbidden: 17}, statuses)
	p := invite(t, owner, "one.more."+owner.Email, "VIEWER").Problem(t, http.StatusForbidden, "plan_limit")
	require.Equal(t, "the plan FREE allows 5 users; STARTER allows 10", p.Message)

	var team []api.TeamMember
	owner.Call(t, "GET", "/v1/me/team", nil).Into(t, 200, &team)
	require.Len(t, team, 5)
	again := team[0].Email
	invite(t, owner, again, "DEVELOPER").Is(t, http.StatusCreated)
	accept(t, s, apitest.LinkToken(t, s.LastMail(t, again).Text)).Is(t, http.StatusCreated)
	invite(t, owner, "one.more."+owner.Email, "VIEWER").Problem(t, http.StatusForbidden, "plan_limit")

	s.Clock.Advance(account.InviteLife)
	owner = owner.LogInAgain(t)
	invite(t, owner, "one.more."+owner.Email, "VIEWER").Is(t, http.StatusCreated)
	invite(t, owner, team[1].Email, "VIEWER").Is(t, http.StatusCreated)
	invite(t, owner, team[2].Email, "VIEWER").Problem(t, http.StatusForbidden, "plan_limit")
}

// TestAPlanBoundsWebhookEndpoints checks that disabled endpoints count and
// deleted ones don't.
func TestAPlanBoundsWebhookEndpoints(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	create := func() apitest.Response {
		return owner.Call(t, "POST", "/v1/me/webhooks", map[string]any{"url": "https://hooks.example.test/"})
	}
	require.Equal(t, map[int]int{http.StatusCreated: 5, http.StatusForbidden: 45}, atOnce(50, create))
	var list []api.WebhookEndpoint
	owner.Call(t, "GET", "/v1/me/webhooks", nil).Into(t, 200, &list)
	require.Len(t, list, 5)
	owner.Call(t, "PATCH", "/v1/me/webhooks/"+list[0].ID, map[string]any{"status": "disabled"}).Is(t, 200)
	create().Problem(t, http.StatusForbidden, "plan_limit")
	owner.Call(t, "DELETE", "/v1/me/webhooks/"+list[0].ID, nil).Is(t, 200)
	create().Is(t, http.StatusCreated)
	create().Problem(t, http.StatusForbidden, "plan_limit")
}

// TestADayBoundsAPIKeys checks that a tenant can create at most 1,000 keys a day, even if it
// revokes each of them.
func TestADayBoundsAPIKeys(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, neighbour := s.Register(t), s.Register(t)
	create := func(c *apitest.Caller) apitest.Response {
		return c.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "Key"})
	}
	_, err := s.Pool.Exec(t.Context(), `
		INSERT INTO api_keys (id, tenant_id, name, key_hash, prefix, last4, scopes, revoked_at, created_at)
		SELECT $1::text || n, $1, 'Key', sha256(($1::text || n)::bytea), 'sk_live_', 'abcd', '{}', $2, $2 FROM generate_series(1, 998) n`,
		owner.TenantID, s.Clock.Now())
	require.NoError(t, err)
	s.Clock.Advance(time.Hour)
	require.Equal(t, map[int]int{http.StatusCreated: 2, http.StatusTooManyRequests: 4}, atOnce(6, func() apitest.Response { return create(owner) }))
	p := create(owner).Problem(t, http.StatusTooManyRequests, "rate_limited")
	require.Equal(t, "the limit maxApiKeysPerDay is reached: 1000 API keys were created within 24 hours; try again in 82800 seconds", p.Message)
	require.Equal(t, &api.ProblemLimit{Name: "maxApiKeysPerDay", Value: 1000, Plan: "FREE"}, p.Limit)
	create(neighbour).Is(t, http.StatusCreated)
	s.Clock.Advance(23 * time.Hour)
	owner.LogInAgain(t).Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "Key"}).Is(t, http.StatusCreated)
}

// TestADayBoundsWebhookEndpoints checks the same for webhook endpoints.
func TestADayBoundsWebhookEndpoints(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	_, err := s.Pool.Exec(t.Context(), `
		INSERT INTO webhook_endpoints (id, tenant_id, url, events, secret, deleted_at, created_at, updated_at)
		SELECT $1::text || n, $1, 'https://hooks.example.test/', '{}', '', $2, $2, $2 FROM generate_series(1, 999) n`, owner.TenantID, s.Clock.Now())
	require.NoError(t, err)
	input := map[string]any{"url": "https://hooks.example.test/"}
	owner.Call(t, "POST", "/v1/me/webhooks", input).Is(t, http.StatusCreated)
	p := owner.Call(t, "POST", "/v1/me/webhooks", input).Problem(t, http.StatusTooManyRequests, "rate_limited")
	require.Contains(t, p.Message, "the limit maxWebhookEndpointsPerDay is reached: 1000 webhook endpoints")
	require.Equal(t, &api.ProblemLimit{Name: "maxWebhookEndpointsPerDay", Value: 1000, Plan: "FREE"}, p.Limit)
}

// TestAChangeOfThePlanHoldsAtOnce checks that new limits apply at once, and that a tenant
// keeps rows beyond a lower limit.
func TestAChangeOfThePlanHoldsAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, admin := s.Register(t), s.Admin(t, platform.SuperAdmin)
	create := func() apitest.Response {
		return owner.Call(t, "POST", "/v1/me/webhooks", map[string]any{"url": "https://hooks.example.test/"})
	}
	become := func(plan string) {
		admin.Call(t, "PATCH", "/v1/admin/tenants/"+owner.TenantID+"/plan", map[string]any{"plan": plan}).Is(t, 200)
	}
	become("ENTERPRISE")
	require.Equal(t, map[int]int{http.StatusCreated: 50, http.StatusForbidden: 10}, atOnce(60, create))
	p := create().Problem(t, http.StatusForbidden, "plan_limit")
	require.Equal(t, "the plan ENTERPRISE allows 50 webhook endpoints, and no plan allows more", p.Message)
	require.Nil(t, p.Limit.UpgradeTo)

	become("FREE")
	require.Len(t, follow(t, owner, "/v1/me/webhooks?limit=200", 200), 50, "nothing is taken away")
	p = create().Problem(t, http.StatusForbidden, "plan_limit")
	require.EqualValues(t, 5, p.Limit.Value)
	require.Nil(t, p.Limit.UpgradeTo, "no plan allows 51")
}
