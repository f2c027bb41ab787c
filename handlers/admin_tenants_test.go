package handlers_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestTenantsAreFilteredByTheirProperties(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.Support)
	plain, pro, stopped := s.Register(t), s.Register(t), s.Register(t)
	for tenantID, change := range map[string]string{
		plain.TenantID: "name = 'Fifty % off_sale'", pro.TenantID: "name = 'Fifty X offYsale', plan = 'PRO'", stopped.TenantID: "status = 'SUSPENDED'",
	} {
		_, err := s.Pool.Exec(t.Context(), "UPDATE tenants SET "+change+" WHERE id = $1", tenantID)
		require.NoError(t, err)
	}
	plain.Colleague(t, tenancy.Viewer)
	for query, want := range map[string][]*apitest.Caller{
		"":                                    {stopped, pro, plain},
		"?q=&status=&plan=&page=&pageSize=":   {stopped, pro, plain},
		"?q=FIFTY":                            {pro, plain},
		"?q=" + url.QueryEscape("y % o"):      {plain},
		"?q=off_sale":                         {plain},
		"?q=" + url.QueryEscape(`\`):          {},
		"?q=" + strings.ToUpper(pro.TenantID): {pro},
		"?q=" + url.QueryEscape(strings.ToUpper(stopped.Email)): {stopped},
		"?plan=PRO":                {pro},
		"?status=SUSPENDED":        {stopped},
		"?status=ACTIVE&plan=FREE": {plain},
		"?status=TRIAL":            {},
	} {
		var page api.TenantPage
		root.Call(t, "GET", "/v1/admin/tenants"+query, nil).Into(t, 200, &page)
		ids := []string{}
		for _, item := range page.Items {
			ids = append(ids, item.ID)
		}
		wanted := []string{}
		for _, c := range want {
			wanted = append(wanted, c.TenantID)
		}
		require.Equal(t, wanted, ids, query)
		require.Equal(t, len(want), page.Total, query)
	}
	var page api.TenantPage
	root.Call(t, "GET", "/v1/admin/tenants?q=off_sale", nil).Into(t, 200, &page)
	require.Equal(t, 2, page.Items[0].UserCount)
	for query, field := range map[string]string{"status=LIVE": "status", "plan=GOLD": "plan", "page=x": "page", "pageSize=1.5": "pageSize"} {
		p := root.Call(t, "GET", "/v1/admin/tenants?"+query, nil).Problem(t, 400, "invalid_input")
		require.Equal(t, []string{field}, fieldsOf(p), query)
	}
}

// adminLists returns the paths of all lists of the admin core.
func adminLists() []string {
	return []string{"/v1/admin/tenants", "/v1/admin/users", "/v1/admin/audit"}
}

func TestAdminListsPage(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.SuperAdmin)
	for range 4 { // all at the same time, so that the id decides the order
		s.Register(t)
	}
	for _, list := range adminLists() {
		type anyPage struct {
			Items                 []struct{ ID string }
			Page, PageSize, Total int
		}
		get := func(query string) (p anyPage) {
			root.Call(t, "GET", list+query, nil).Into(t, 200, &p)
			return p
		}
		all := get("")
		require.Equal(t, 1, all.Page)
		require.Equal(t, 20, all.PageSize)
		require.Len(t, all.Items, all.Total)
		require.GreaterOrEqual(t, all.Total, 4)
		var ids []string
		for number := 1; ; number++ {
			p := get(fmt.Sprintf("?page=%d&pageSize=3", number))
			require.Equal(t, number, p.Page)
			require.Equal(t, 3, p.PageSize)
			require.Equal(t, all.Total, p.Total)
			if len(p.Items) == 0 {
				break
			}
			for _, item := range p.Items {
				ids = append(ids, item.ID)
			}
		}
		for i, item := range all.Items {
			require.Equal(t, item.ID, ids[i])
			require.True(t, i == 0 || item.ID < all.Items[i-1].ID, "newest first")
		}
		require.Len(t, ids, all.Total)
		for query, size := range map[string]int{"?pageSize=1000": 100, "?pageSize=0": 1, "?pageSize=-7": 1, "?pageSize=100": 100, "?page=-1": 20} {
			p := get(query)
			require.Equal(t, size, p.PageSize, query)
			require.Equal(t, 1, p.Page)
		}
		far := get("?page=9999999999")
		require.Empty(t, far.Items)
		require.Equal(t, all.Total, far.Total)
		for _, wrong := range []string{"page=one", "page=1e3", "page=0x1", "pageSize=%20", "pageSize=2.0"} {
			p := root.Call(t, "GET", list+"?"+wrong, nil).Problem(t, 400, "invalid_input")
			field, _, _ := strings.Cut(wrong, "=")
			require.Equal(t, []string{field}, fieldsOf(p), wrong)
		}
	}
}

func TestTenantDetail(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.Billing), s.Register(t)
	secret := owner.Key(t, tenancy.StreamsRead)
	var streams []api.Stream
	for range 22 {
		streams = append(streams, owner.Stream(t, nil))
	}
	owner.Colleague(t, tenancy.Viewer)
	s.Register(t).Stream(t, nil)
	r := root.Call(t, "GET", "/v1/admin/tenants/"+owner.TenantID, nil)
	var d api.TenantDetail
	r.Into(t, 200, &d)
	require.Equal(t, owner.TenantID, d.Tenant.ID)
	require.Equal(t, 2, d.Tenant.UserCount)
	require.Len(t, d.Users, 2)
	require.Len(t, d.Keys, 1)
	require.Nil(t, d.Keys[0].Key)
	require.Len(t, d.RecentStreams, 20)
	require.Equal(t, streams[21].ID, d.RecentStreams[0].ID)
	require.Len(t, d.Audit, 20)
	require.Equal(t, "stream.create", d.Audit[0].Action)
	for _, hidden := range []string{secret.Token, streams[21].StreamKey, "argon2id"} {
		require.NotContains(t, string(r.Body), hidden)
	}
	root.Call(t, "GET", "/v1/admin/tenants/ten_none", nil).Problem(t, 404, "not_found")
}

func TestPlanChange(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	billing, owner := s.Admin(t, platform.Billing), s.Register(t)
	path := "/v1/admin/tenants/" + owner.TenantID + "/plan"
	s.Clock.Advance(time.Minute)
	var changed api.TenantSummary
	billing.Call(t, "PATCH", path, map[string]any{"plan": "ENTERPRISE", "reason": "Annual contract"}).Into(t, 200, &changed)
	require.Equal(t, api.PlanTierENTERPRISE, changed.Plan)
	require.WithinDuration(t, s.Clock.Now(), changed.UpdatedAt.Time, 0)
	var who api.Identity
	owner.Call(t, "GET", "/v1/me", nil).Into(t, 200, &who)
	require.Equal(t, api.PlanTierENTERPRISE, who.Tenant.Plan)
	billing.Call(t, "PATCH", path, map[string]any{"plan": "ENTERPRISE"}).Is(t, 200)

	var log api.AuditPage
	billing.Call(t, "GET", "/v1/admin/audit?action=tenant.change_plan&tenantId="+owner.TenantID, nil).Into(t, 200, &log)
	require.Equal(t, 1, log.Total, "the same plan again is no change")
	require.Equal(t, "FREE", log.Items[0].Before.MustGet()["plan"])
	require.Equal(t, "ENTERPRISE", log.Items[0].After.MustGet()["plan"])
	require.Equal(t, "Annual contract", log.Items[0].Reason.MustGet())

	billing.Call(t, "PATCH", path, map[string]any{"plan": "GOLD"}).Problem(t, 400, "invalid_input")
	billing.Call(t, "PATCH", path, map[string]any{}).Problem(t, 400, "invalid_input")
	s.Admin(t, platform.Support).Call(t, "PATCH", path, map[string]any{"plan": "PRO"}).Problem(t, 403, "forbidden")
	billing.Call(t, "PATCH", "/v1/admin/tenants/ten_none/plan", map[string]any{"plan": "PRO"}).Problem(t, 404, "not_found")
}
