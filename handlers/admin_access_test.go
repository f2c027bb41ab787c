package handlers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/apitest"
)

func TestAdminLogin(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root := s.Admin(t, platform.SuperAdmin)
	s.Clock.Advance(time.Minute)
	var l api.AdminLogin
	r := s.With(t, "").Call(t, "POST", "/v1/admin/auth/login", map[string]any{"email": " " + strings.ToUpper(root.Email), "password": apitest.Password})
	r.Into(t, 201, &l)
	require.WithinDuration(t, s.Clock.Now().Add(8*time.Hour), l.ExpiresAt.Time, 0)
	require.Equal(t, root.UserID, l.Admin.ID)
	require.Equal(t, api.AdminRoleSUPERADMIN, l.Admin.Role)
	require.Equal(t, []api.AdminScope{"admin:read", "admin:write", "admin:support", "admin:billing"}, l.Admin.Scopes)

	var me api.Administrator
	s.With(t, l.Token).Call(t, "GET", "/v1/admin/auth/me", nil).Into(t, 200, &me)
	require.Equal(t, l.Admin, me)
	last, err := me.LastLoginAt.Get()
	require.NoError(t, err)
	require.WithinDuration(t, s.Clock.Now(), last.Time, 0)
	var audited int
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM audit_entries WHERE action = 'admin.login' AND actor_id = $1 AND ip = '127.0.0.1' AND request_id = $2",
		root.UserID, r.Header.Get("X-Request-Id")).Scan(&audited))
	require.Equal(t, 1, audited)

	s.Clock.Advance(8*time.Hour + time.Second)
	s.With(t, l.Token).Call(t, "GET", "/v1/admin/auth/me", nil).Problem(t, 401, "token_expired")
}

func TestAdminLoginDoesNotRevealAdmins(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	login := func(email, password string) api.Problem {
		p := s.With(t, "").Call(t, "POST", "/v1/admin/auth/login", map[string]any{"email": email, "password": password}).
			Problem(t, 401, "invalid_credentials")
		p.RequestID = ""
		return p
	}
	wrong := login(root.Email, "not the password")
	require.Equal(t, wrong, login("nobody@example.test", apitest.Password))
	require.Equal(t, wrong, login(owner.Email, apitest.Password), "tenants' users have no way in here")
	require.Equal(t, wrong, login("", ""))
	p := s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": root.Email, "password": apitest.Password}).
		Problem(t, 401, "invalid_credentials")
	require.Equal(t, wrong.Message, p.Message, "and admins none there")
}

func TestTokensOfOneKindAreNoneOfTheOther(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	for _, c := range []*apitest.Caller{owner, owner.Key(t, tenancy.Developer.Scopes()...)} {
		c.Call(t, "GET", "/v1/admin/auth/me", nil).Problem(t, 401, "unauthenticated")
		c.Call(t, "GET", "/v1/admin/tenants", nil).Problem(t, 401, "unauthenticated")
	}
	for _, path := range []string{"/v1/me", "/v1/auth/me", "/v1/me/streams"} {
		root.Call(t, "GET", path, nil).Problem(t, 401, "unauthenticated")
	}
}

func TestTokensOfARemovedAdminEndAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	s.Admin(t, platform.SuperAdmin)
	help := s.Admin(t, platform.Support)
	help.Call(t, "GET", "/v1/admin/auth/me", nil).Is(t, 200)
	require.NoError(t, s.Console.RemoveAdmin(t.Context(), audit.System("test"), help.Email))
	help.Call(t, "GET", "/v1/admin/auth/me", nil).Problem(t, 401, "unauthenticated")
}

func TestRolesAreListedWithTheirScopes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	var roles api.RoleCatalogue
	s.Admin(t, platform.Billing).Call(t, "GET", "/v1/admin/roles", nil).Into(t, 200, &roles)
	require.Len(t, roles.Admin, len(apitest.Document(t).Components.Schemas["AdminRole"].Value.Enum))
	require.Len(t, roles.Tenant, len(apitest.Document(t).Components.Schemas["UserRole"].Value.Enum))
	require.Len(t, roles.Admin[0].Scopes, len(apitest.Document(t).Components.Schemas["AdminScope"].Value.Enum), "SUPER_ADMIN has all")
	for i, grant := range roles.Admin {
		require.Equal(t, string(platform.Roles()[i]), string(grant.Role))
		require.Contains(t, grant.Scopes, api.AdminScopeAdminRead)
	}
	for i, grant := range roles.Tenant {
		require.Equal(t, string(tenancy.Roles()[i]), string(grant.Role))
		require.Len(t, grant.Scopes, len(tenancy.Role(grant.Role).Scopes()))
	}
}
