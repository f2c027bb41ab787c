package handlers_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func ownDatabase(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return dbtest.New(t)
}

func auditOf(component string) audit.Actor { return audit.System(component) }

const appsPath = "/v1/admin/first-party-apps"

func TestFirstPartyApps(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: ownDatabase(t)})
	root, support := s.Admin(t, platform.SuperAdmin), s.Admin(t, platform.Support)
	support.Call(t, "POST", appsPath, map[string]any{"name": "Studio"}).Problem(t, http.StatusForbidden, "forbidden")
	root.Call(t, "POST", appsPath, map[string]any{"name": " "}).Problem(t, http.StatusBadRequest, "invalid_input")

	var made api.FirstPartyAppCreation
	root.Call(t, "POST", appsPath, map[string]any{"name": "Studio", "description": "Ours"}).Into(t, http.StatusCreated, &made)
	require.Equal(t, root.UserID, made.App.CreatedBy)
	require.Equal(t, "Initial key", made.APIKey.Name)
	require.Equal(t, 1, made.App.KeyCount)
	root.Call(t, "POST", appsPath, map[string]any{"name": "sTUDIO"}).Problem(t, http.StatusConflict, "conflict")
	tenant, err := db.New(s.Pool).GetTenant(t.Context(), made.App.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"ENTERPRISE", "ACTIVE"}, []string{tenant.Plan, tenant.Status})

	app := s.With(t, *made.APIKey.Key)
	st := app.Stream(t, nil)
	require.NotEmpty(t, st.ID)
	app.Session(t, nil)
	app.Call(t, "POST", "/v1/me/webhooks", map[string]any{"url": "http://127.0.0.1:1/hook?key=secret"}).Is(t, http.StatusCreated)

	var detail api.FirstPartyAppDetail
	support.Call(t, "GET", appsPath+"/"+made.App.ID, nil).Into(t, http.StatusOK, &detail)
	require.Equal(t, 1, detail.Stats.Streams)
	require.Equal(t, 1, detail.Stats.Sessions)
	require.Len(t, detail.Keys, 1)
	require.Nil(t, detail.Keys[0].Key)
	require.Len(t, detail.RecentSessions, 1)
	require.Len(t, detail.Webhooks, 1)
	require.Equal(t, "http://127.0.0.1:1/hook?key=***", detail.Webhooks[0].URL)
	root.Call(t, "GET", appsPath+"/"+s.Register(t).TenantID, nil).Problem(t, http.StatusNotFound, "not_found")

	s.Clock.Advance(time.Second)
	root.Call(t, "POST", appsPath, map[string]any{"name": "Second"}).Is(t, http.StatusCreated)
	var list api.FirstPartyAppPage
	support.Call(t, "GET", appsPath+"?pageSize=1", nil).Into(t, http.StatusOK, &list)
	require.Equal(t, 2, list.Total)
	require.Equal(t, "Second", list.Items[0].Name)
	support.Call(t, "GET", appsPath+"?pageSize=1&page=2", nil).Into(t, http.StatusOK, &list)
	require.Equal(t, "Studio", list.Items[0].Name)
	require.False(t, list.Items[0].LastUsedAt.IsNull())
}

func TestKeysOfFirstPartyApps(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: ownDatabase(t)})
	root := s.Admin(t, platform.SuperAdmin)
	var made api.FirstPartyAppCreation
	root.Call(t, "POST", appsPath, map[string]any{"name": "Studio", "keyName": "First", "keyScopes": []string{"streams:read"}}).
		Into(t, http.StatusCreated, &made)
	require.Equal(t, []api.Scope{"streams:read"}, made.APIKey.Scopes)
	keys := appsPath + "/" + made.App.ID + "/keys"
	root.Call(t, "POST", keys, map[string]any{"name": "Late", "expiresAt": s.Clock.Now().Add(-time.Hour)}).
		Problem(t, http.StatusBadRequest, "invalid_input")
	root.Call(t, "POST", keys, map[string]any{"name": "Much", "scopes": []string{"team:write"}}).Problem(t, http.StatusForbidden, "forbidden")
	var key api.APIKey
	root.Call(t, "POST", keys, map[string]any{"name": "Second"}).Into(t, http.StatusCreated, &key)
	app := s.With(t, *key.Key)
	app.Call(t, "GET", "/v1/me/streams", nil).Is(t, http.StatusOK)
	root.Call(t, "DELETE", keys+"/"+key.ID, nil).Is(t, http.StatusOK)
	root.Call(t, "DELETE", keys+"/"+key.ID, nil).Is(t, http.StatusOK)
	app.Call(t, "GET", "/v1/me/streams", nil).Problem(t, http.StatusUnauthorized, "key_revoked")

	ada := s.Register(t)
	var other api.APIKey
	ada.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "k"}).Into(t, http.StatusCreated, &other)
	root.Call(t, "DELETE", keys+"/"+other.ID, nil).Problem(t, http.StatusNotFound, "not_found")
	root.Call(t, "POST", appsPath+"/"+ada.TenantID+"/keys", map[string]any{"name": "No"}).Problem(t, http.StatusNotFound, "not_found")

	entries, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: made.App.ID, MaxRows: 10})
	require.NoError(t, err)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
		require.Equal(t, root.UserID, e.ActorID)
	}
	require.ElementsMatch(t, []string{"first_party_app.create", "api_key.create", "api_key.create", "api_key.revoke"}, actions)
}

func TestImpersonatingFirstPartyApps(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: ownDatabase(t)})
	root := s.Admin(t, platform.SuperAdmin)
	var made api.FirstPartyAppCreation
	root.Call(t, "POST", appsPath, map[string]any{"name": "Studio"}).Into(t, http.StatusCreated, &made)
	at := appsPath + "/" + made.App.ID + "/impersonate"
	var out api.Impersonation
	root.Call(t, "POST", at, nil).Into(t, http.StatusCreated, &out)
	as := s.With(t, out.Token)
	var who api.Identity
	as.Call(t, "GET", "/v1/me", nil).Into(t, http.StatusOK, &who)
	require.Equal(t, api.UserRole("ADMIN"), who.Role)
	require.True(t, who.User.IsNull())
	require.Equal(t, root.UserID, who.Impersonation.ImpersonatorID)
	as.Product(t, nil)
	as.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Studio 2"}).Is(t, http.StatusOK)
	entries, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: made.App.ID, MaxRows: 1})
	require.NoError(t, err)
	require.Equal(t, made.App.ID, entries[0].ActorID)
	require.Equal(t, root.UserID, *entries[0].ImpersonatorID)

	root.Call(t, "POST", "/v1/admin/tenants/"+made.App.ID+"/suspend", map[string]any{"reason": "Test"}).Is(t, http.StatusCreated)
	as.Call(t, "GET", "/v1/me", nil).Problem(t, http.StatusForbidden, "tenant_suspended")
	root.Call(t, "POST", at, nil).Problem(t, http.StatusForbidden, "tenant_suspended")
	root.Call(t, "POST", appsPath+"/"+made.App.ID+"/keys", map[string]any{"name": "No"}).Problem(t, http.StatusForbidden, "tenant_suspended")
	root.Call(t, "POST", appsPath+"/"+s.Register(t).TenantID+"/impersonate", nil).Problem(t, http.StatusNotFound, "not_found")
}
