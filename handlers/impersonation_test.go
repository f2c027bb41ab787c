package handlers_test

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/pipeline"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/setting"
	"showfloor/internal/testkit/apitest"
)

func impersonate(t *testing.T, s *apitest.Server, root *apitest.Caller, tenantID string, more map[string]any) (*apitest.Caller, api.TenantImpersonation) {
	t.Helper()
	body := map[string]any{"reason": "Ticket 4711"}
	maps.Copy(body, more)
	var out api.TenantImpersonation
	root.Call(t, "POST", "/v1/admin/tenants/"+tenantID+"/impersonate", body).Into(t, http.StatusCreated, &out)
	c := s.With(t, out.Token)
	c.TenantID = tenantID
	return c, out
}

// TestImpersonationIsDecidedForEachOperation checks that each operation that takes a tenant's token and changes something is in the list,
// and no other one.
func TestImpersonationIsDecidedForEachOperation(t *testing.T) {
	t.Parallel()
	decisions := pipeline.Impersonations()
	found := map[string]bool{}
	for _, item := range apitest.Document(t).Paths.Map() {
		for method, op := range item.Operations() {
			tenants := false
			for _, alternative := range *op.Security {
				for scheme := range alternative {
					tenants = tenants || scheme == "tenantToken" || scheme == "userToken"
				}
			}
			if !tenants {
				continue
			}
			if _, decided := decisions[op.OperationID]; decided {
				found[op.OperationID] = true
			} else if method != http.MethodGet {
				t.Errorf("decide in handlers/pipeline/impersonated.go whether an impersonating admin may call %s", op.OperationID)
			}
		}
	}
	for name := range decisions {
		require.True(t, found[name], "%s takes no tenant's token, or doesn't exist: remove it", name)
	}
}

func TestImpersonatingATenant(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada := s.Register(t)
	dev := ada.Colleague(t, tenancy.Developer)
	root, support := s.Admin(t, platform.SuperAdmin), s.Admin(t, platform.Support)
	path := "/v1/admin/tenants/" + ada.TenantID + "/impersonate"
	root.Call(t, "POST", path, map[string]any{}).Problem(t, http.StatusBadRequest, "invalid_input")
	support.Call(t, "POST", path, map[string]any{"reason": "Curious"}).Problem(t, http.StatusForbidden, "forbidden")
	root.Call(t, "POST", path, map[string]any{"reason": "Ticket", "userId": s.Register(t).UserID}).Problem(t, http.StatusNotFound, "not_found")
	root.Call(t, "POST", "/v1/admin/tenants/ten_01m18qg1mhf2bsz1fk6m8v4jxd/impersonate", map[string]any{"reason": "Ticket"}).
		Problem(t, http.StatusNotFound, "not_found")

	as, out := impersonate(t, s, root, ada.TenantID, nil)
	require.Equal(t, ada.UserID, out.User.MustGet().ID)
	require.False(t, out.ReadOnly)
	var me api.CurrentUser
	as.Call(t, "GET", "/v1/auth/me", nil).Into(t, http.StatusOK, &me)
	require.Equal(t, root.UserID, me.Impersonation.ImpersonatorID)
	var admin api.Administrator
	root.Call(t, "GET", "/v1/admin/auth/me", nil).Into(t, http.StatusOK, &admin)
	require.Equal(t, admin.Email, me.Impersonation.ImpersonatorEmail)
	var who api.Identity
	as.Call(t, "GET", "/v1/me", nil).Into(t, http.StatusOK, &who)
	require.Equal(t, root.UserID, who.Impersonation.ImpersonatorID)
	require.Equal(t, admin.Email, who.Impersonation.ImpersonatorEmail)
	ada.Call(t, "GET", "/v1/me", nil).Into(t, http.StatusOK, &who)

	// Changes are audited with both names; credentials, the team and money are out of reach.
	as.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Renamed"}).Is(t, http.StatusOK)
	entries, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: ada.TenantID, MaxRows: 2})
	require.NoError(t, err)
	require.Equal(t, "tenant.update", entries[0].Action)
	require.Equal(t, ada.UserID, entries[0].ActorID)
	require.Equal(t, root.UserID, *entries[0].ImpersonatorID)
	require.Equal(t, "tenant.impersonate", entries[1].Action)
	require.Equal(t, "Ticket 4711", *entries[1].Reason)
	require.Nil(t, entries[1].ImpersonatorID)
	require.NotEmpty(t, *entries[1].ImpersonationID)
	require.Equal(t, entries[1].ImpersonationID, entries[0].ImpersonationID)
	for path, body := range map[string]map[string]any{
		"/v1/me/change-password":  {"currentPassword": apitest.Password, "newPassword": "quick violet harbour"},
		"/v1/me/api-keys":         {"name": "Mine"},
		"/v1/me/security/totp":    {"password": apitest.Password},
		"/v1/me/team":             {"email": "me@example.test", "name": "Me", "role": "OWNER"},
		"/v1/me/streams":          {"name": "Mine"},
		"/v1/me/billing/checkout": {"plan": "PRO"},
	} {
		as.Call(t, "POST", path, body).Problem(t, http.StatusForbidden, "impersonated")
	}
	var logins []api.SignIn
	ada.Call(t, "GET", "/v1/me/security/sessions", nil).Into(t, http.StatusOK, &logins)
	require.Len(t, logins, 1)

	asDev, out := impersonate(t, s, root, ada.TenantID, map[string]any{"userId": dev.UserID})
	require.Equal(t, dev.UserID, out.User.MustGet().ID)
	asDev.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "No"}).Problem(t, http.StatusForbidden, "forbidden")

	s.Clock.Advance(30 * time.Minute)
	as.Call(t, "GET", "/v1/me", nil).Problem(t, http.StatusUnauthorized, "token_expired")
}

func TestImpersonationEnds(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada := s.Register(t)
	for name, end := range map[string]func(root *apitest.Caller){
		"logged out": func(root *apitest.Caller) {
			var list []api.SignIn
			root.Call(t, "GET", "/v1/admin/auth/sessions", nil).Into(t, http.StatusOK, &list)
			root.Call(t, "DELETE", "/v1/admin/auth/sessions/"+list[0].ID, nil).Is(t, http.StatusOK)
		},
		"password reset": func(root *apitest.Caller) {
			_, err := s.Console.ResetAdminPassword(t.Context(), auditOf("test"), root.Email, "")
			require.NoError(t, err)
		},
		"removed": func(root *apitest.Caller) {
			s.Admin(t, platform.SuperAdmin)
			require.NoError(t, s.Console.RemoveAdmin(t.Context(), auditOf("test"), root.Email))
		},
	} {
		root := s.Admin(t, platform.SuperAdmin)
		as, _ := impersonate(t, s, root, ada.TenantID, nil)
		as.Call(t, "GET", "/v1/me", nil).Is(t, http.StatusOK)
		end(root)
		s.Clock.Advance(time.Second)
		require.Equal(t, http.StatusUnauthorized, as.Call(t, "GET", "/v1/me", nil).Status, name)
	}
	root := s.Admin(t, platform.SuperAdmin)
	as, _ := impersonate(t, s, root, ada.TenantID, nil)
	ada.Call(t, "POST", "/v1/me/change-password", map[string]any{"currentPassword": apitest.Password, "newPassword": "quick violet harbour"}).
		Is(t, http.StatusCreated)
	as.Call(t, "GET", "/v1/me", nil).Problem(t, http.StatusUnauthorized, "token_revoked")
}

func TestAdminEndsAnImpersonation(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	const end = "/v1/auth/impersonation/end"
	ada.Call(t, "POST", end, nil).Problem(t, http.StatusConflict, "conflict")
	as, _ := impersonate(t, s, root, ada.TenantID, nil)
	other, _ := impersonate(t, s, root, ada.TenantID, nil)
	var out api.ImpersonationEnd
	as.Call(t, "POST", end, nil).Into(t, http.StatusCreated, &out)
	require.True(t, out.Ended)
	as.Call(t, "GET", "/v1/me", nil).Problem(t, http.StatusUnauthorized, "token_revoked")
	as.Call(t, "POST", end, nil).Problem(t, http.StatusUnauthorized, "token_revoked")
	other.Call(t, "GET", "/v1/me", nil).Is(t, http.StatusOK)
	ada.Call(t, "GET", "/v1/me", nil).Is(t, http.StatusOK)
	entries, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: ada.TenantID, MaxRows: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"tenant.end_impersonation", ada.UserID, root.UserID}, []string{entries[0].Action, entries[0].ActorID, *entries[0].ImpersonatorID})

	// The entries tell two impersonations by one admin apart: newest first, the end of the first one, and the two beginnings.
	var log api.AuditPage
	root.Call(t, "GET", "/v1/admin/audit?action=tenant.*&tenantId="+ada.TenantID, nil).Into(t, http.StatusOK, &log)
	require.Equal(t, "tenant.impersonate", log.Items[2].Action)
	require.Equal(t, tokenID(t, as.Token), log.Items[0].ImpersonationID.MustGet())
	require.Equal(t, tokenID(t, as.Token), log.Items[2].ImpersonationID.MustGet())
	require.Equal(t, tokenID(t, other.Token), log.Items[1].ImpersonationID.MustGet())
	root.Call(t, "GET", "/v1/admin/audit?action=admin.login&actor="+root.UserID, nil).Into(t, http.StatusOK, &log)
	for _, e := range log.Items {
		require.True(t, e.ImpersonationID.IsNull())
	}

	// The row of a token that expired an hour ago is deleted with the next end. A read-only token can be ended, too.
	root.Call(t, "POST", "/v1/admin/tenants/"+ada.TenantID+"/suspend", map[string]any{"reason": "Spam"}).Is(t, http.StatusCreated)
	s.Clock.Advance(account.ImpersonationLife + time.Hour + time.Minute)
	reader, _ := impersonate(t, s, root, ada.TenantID, nil)
	reader.Call(t, "POST", end, nil).Is(t, http.StatusCreated)
	reader.Call(t, "GET", "/v1/me", nil).Problem(t, http.StatusUnauthorized, "token_revoked")
	var rows int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM ended_impersonations WHERE expires_at < $1", s.Clock.Now().Add(-time.Hour)).Scan(&rows))
	require.Zero(t, rows)
}

// tokenID is the claim jti of a token.
func tokenID(t *testing.T, token string) string {
	t.Helper()
	var claims jwt.RegisteredClaims
	_, _, err := jwt.NewParser().ParseUnverified(token, &claims)
	require.NoError(t, err)
	return claims.ID
}

func TestAnImpersonationEndsWhileTheTenantIsSuspended(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	key := ada.Key(t, tenancy.StreamsRead)
	const end = "/v1/auth/impersonation/end"
	as, _ := impersonate(t, s, root, ada.TenantID, nil)
	gone, _ := impersonate(t, s, root, ada.TenantID, nil)
	gone.Call(t, "POST", end, nil).Is(t, http.StatusCreated)
	root.Call(t, "POST", "/v1/admin/tenants/"+ada.TenantID+"/suspend", map[string]any{"reason": "Spam"}).Is(t, http.StatusCreated)
	as.Call(t, "GET", "/v1/me", nil).Problem(t, http.StatusForbidden, "tenant_suspended")
	// Only the token of an impersonation gets so far, and only while it is valid.
	ada.Call(t, "POST", end, nil).Problem(t, http.StatusForbidden, "tenant_suspended")
	key.Call(t, "POST", end, nil).Problem(t, http.StatusForbidden, "tenant_suspended")
	gone.Call(t, "POST", end, nil).Problem(t, http.StatusUnauthorized, "token_revoked")
	as.Call(t, "POST", end, nil).Is(t, http.StatusCreated)
	as.Call(t, "POST", end, nil).Problem(t, http.StatusUnauthorized, "token_revoked")
	root.Call(t, "POST", "/v1/admin/tenants/"+ada.TenantID+"/unsuspend", nil).Is(t, http.StatusCreated)
	as.Call(t, "GET", "/v1/me", nil).Problem(t, http.StatusUnauthorized, "token_revoked")
}

func TestImpersonatingASuspendedTenant(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	before, _ := impersonate(t, s, root, ada.TenantID, nil)
	root.Call(t, "POST", "/v1/admin/tenants/"+ada.TenantID+"/suspend", map[string]any{"reason": "Spam"}).Is(t, http.StatusCreated)
	before.Call(t, "GET", "/v1/me", nil).Problem(t, http.StatusForbidden, "tenant_suspended")
	as, out := impersonate(t, s, root, ada.TenantID, nil)
	require.True(t, out.ReadOnly)
	as.Call(t, "GET", "/v1/me/streams", nil).Is(t, http.StatusOK)
	as.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Renamed"}).Problem(t, http.StatusForbidden, "impersonated")
	root.Call(t, "POST", "/v1/admin/tenants/"+ada.TenantID+"/unsuspend", nil).Is(t, http.StatusCreated)
	as.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Renamed"}).Problem(t, http.StatusForbidden, "impersonated")
}

func TestAdminNetworks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: ownDatabase(t)})
	root := s.Admin(t, platform.SuperAdmin)
	const path = "/v1/admin/settings/security.adminNetworks"
	set := func(networks any) apitest.Response {
		return root.Call(t, "PUT", path, map[string]any{"value": networks, "reason": "Office only"})
	}
	for _, wrong := range []any{"192.0.2.0/24", []string{"office"}, []int{1}, []string{"::ffff:192.0.2.0/120"}, map[string]any{}} {
		set(wrong).Problem(t, http.StatusBadRequest, "invalid_input")
	}
	locked := set([]string{"192.0.2.0/24"}).Problem(t, http.StatusConflict, "conflict")
	require.Contains(t, locked.Message, "127.0.0.1")
	var stored api.PlatformSetting
	set([]string{"192.0.2.9/24", "127.0.0.1", "127.0.0.1"}).Into(t, http.StatusOK, &stored)
	require.Equal(t, []any{"127.0.0.1/32", "192.0.2.0/24"}, stored.Value)
	updated := stored.UpdatedAt
	s.Clock.Advance(time.Second)
	set([]string{"192.0.2.0/24", "127.0.0.1/32"}).Into(t, http.StatusOK, &stored)
	require.Equal(t, updated, stored.UpdatedAt)

	// The operator's own list isn't checked.
	_, err := s.Settings.UpdateAdminSetting(t.Context(), auditOf("operator"), setting.Platform, setting.AdminNetworks,
		setting.Change{Value: []byte(`["192.0.2.0/24"]`)})
	require.NoError(t, err)
	root.Call(t, "GET", "/v1/admin/auth/me", nil).Problem(t, http.StatusForbidden, "address_not_allowed")
	logInWith(t, s, "/v1/admin/auth/login", root.Email, nil).Problem(t, http.StatusForbidden, "address_not_allowed")
	s.Register(t).Call(t, "GET", "/v1/me", nil).Is(t, http.StatusOK)
	require.NoError(t, s.Settings.ClearAdminNetworks(t.Context(), auditOf("operator")))
	root.Call(t, "GET", "/v1/admin/auth/me", nil).Is(t, http.StatusOK)
}
