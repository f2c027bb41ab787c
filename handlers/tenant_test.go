package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/testkit/apitest"
)

func TestTenantChangesItsNameAndNothingElse(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var before, after api.Tenant
	owner.Call(t, "GET", "/v1/me/tenant", nil).Into(t, 200, &before)
	owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{
		"name": "Acme Live", "plan": "ENTERPRISE", "status": "ACTIVE", "chargesEnabled": true, "id": "ten_x",
	}).Into(t, 200, &after)
	require.Equal(t, "Acme Live", after.Name)
	after.Name, after.Brand.Name, after.UpdatedAt = before.Name, before.Name, before.UpdatedAt
	require.Equal(t, before, after)
	owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{}).Into(t, 200, &after)
	require.Equal(t, "Acme Live", after.Name)
	owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": " "}).Problem(t, 400, "invalid_input")
	owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": nil}).Problem(t, 400, "invalid_input")
	entries, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: owner.TenantID, MaxRows: 10})
	require.NoError(t, err)
	require.Equal(t, "tenant.update", entries[0].Action)
	require.Len(t, entries, 2, "an update without a change writes no audit entry")
}

func TestPasswordChangeEndsAllOldTokens(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	elsewhere, key := owner.LogInAgain(t), owner.Key(t)
	elsewhere.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	const next = "quick violet harbour"
	change := func(current, next string) apitest.Response {
		return owner.Call(t, "POST", "/v1/me/change-password", map[string]any{"currentPassword": current, "newPassword": next})
	}
	change("not the password", next).Problem(t, 400, "wrong_password")
	change(apitest.Password, "short").Problem(t, 400, "invalid_input")
	owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)

	var l api.Login
	change(apitest.Password, next).Into(t, 201, &l)
	owner.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_revoked")
	elsewhere.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_revoked")
	s.With(t, l.Token).Call(t, "GET", "/v1/me", nil).Is(t, 200)
	login := func(password string) apitest.Response {
		return s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": owner.Email, "password": password})
	}
	login(apitest.Password).Problem(t, 401, "invalid_credentials")
	login(next).Is(t, 201)
	key.Call(t, "POST", "/v1/me/change-password",
		map[string]any{"currentPassword": next, "newPassword": next}).Problem(t, 401, "unauthenticated")
}

func TestATenantsBrand(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var tenant api.Tenant
	owner.Call(t, "GET", "/v1/me/tenant", nil).Into(t, 200, &tenant)
	require.Equal(t, tenant.Name, tenant.Brand.Name)
	require.True(t, tenant.Brand.LogoURL.IsNull() && tenant.Brand.PrimaryColor.IsNull() && tenant.Brand.AccentColor.IsNull())
	require.Empty(t, tenant.EmbedOrigins)

	owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{
		"brand":        map[string]any{"logoUrl": "https://cdn.example/logo.svg", "primaryColor": "#7A2048"},
		"embedOrigins": []string{"https://Shop.example", "https://shop.example:443", "http://localhost:3000"},
	}).Into(t, 200, &tenant)
	color, err := tenant.Brand.PrimaryColor.Get()
	require.NoError(t, err)
	require.Equal(t, "#7a2048", color)
	require.Equal(t, []string{"https://shop.example", "http://localhost:3000"}, tenant.EmbedOrigins)

	owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"brand": map[string]any{"logoUrl": nil}}).Into(t, 200, &tenant)
	require.True(t, tenant.Brand.LogoURL.IsNull())
	require.False(t, tenant.Brand.PrimaryColor.IsNull(), "absent fields don't change")
	for _, body := range []map[string]any{
		{"brand": map[string]any{"primaryColor": "red"}}, {"brand": map[string]any{"logoUrl": "data:image/svg+xml,x"}},
		{"embedOrigins": []string{"https://shop.example/path"}}, {"embedOrigins": []string{"*"}}, {"embedOrigins": []string{"https://*.example"}},
		{"embedOrigins": []string{"https://shop.example; script-src *"}},
	} {
		owner.Call(t, "PATCH", "/v1/me/tenant", body).Problem(t, 400, "invalid_input")
	}
}
