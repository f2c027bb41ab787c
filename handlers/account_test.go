package handlers_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

func registration(t *testing.T) map[string]any {
	t.Helper()
	return map[string]any{
		"tenantName": "Acme Live", "name": "Ada Okafor",
		"email": strings.ToLower(strings.ReplaceAll(t.Name(), "/", ".")) + "@example.test", "password": apitest.Password,
	}
}

func TestRegisterMakesATenantWithItsOwner(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	form := registration(t)
	form["email"] = strings.ToUpper(form["email"].(string))

	resp, err := s.With(t, "").Client.RegisterWithResponse(t.Context(), api.RegistrationInput{
		TenantName: "Acme Live", Name: "Ada Okafor", Email: form["email"].(string), Password: apitest.Password,
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, resp.StatusCode())
	l := resp.JSON201
	require.Equal(t, "Acme Live", l.Tenant.Name)
	require.Equal(t, api.TenantStatusACTIVE, l.Tenant.Status)
	require.Equal(t, api.PlanTierFREE, l.Tenant.Plan)
	require.False(t, l.Tenant.ChargesEnabled)
	require.Equal(t, api.UserRoleOWNER, l.User.Role)
	require.Equal(t, api.UserStatusACTIVE, l.User.Status)
	require.Equal(t, strings.ToLower(form["email"].(string)), l.User.Email, "addresses are kept in lower case")
	require.Equal(t, l.Tenant.ID, l.User.TenantID)
	require.WithinDuration(t, s.Clock.Now().Add(12*time.Hour), l.ExpiresAt.Time, 0)
	require.False(t, l.User.LastLoginAt.IsNull())

	entries, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: l.Tenant.ID, MaxRows: 10})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "tenant.register", entries[0].Action)
	require.Equal(t, l.User.ID, entries[0].ActorID)
	require.Equal(t, "127.0.0.1", *entries[0].IP)
	require.Equal(t, resp.HTTPResponse.Header.Get("X-Request-Id"), *entries[0].RequestID)
}

func TestRegisterRefusesATakenAddress(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	form := registration(t)
	s.With(t, "").Call(t, "POST", "/v1/auth/register", form).Is(t, 201)
	form["email"] = strings.ToUpper(form["email"].(string))
	p := s.With(t, "").Call(t, "POST", "/v1/auth/register", form).Problem(t, 409, "conflict")
	require.NotEmpty(t, p.Message)
	var tenants int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM tenants t JOIN users u ON u.tenant_id = t.id WHERE u.email = lower($1)",
		form["email"]).Scan(&tenants))
	require.Equal(t, 1, tenants)
}

func TestRegisterNamesEachFaultyField(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for name, c := range map[string]struct {
		change map[string]any
		fields []string
	}{
		"short password":  {map[string]any{"password": "123456789"}, []string{"password"}},
		"long password":   {map[string]any{"password": strings.Repeat("x", 129)}, []string{"password"}},
		"no address":      {map[string]any{"email": "ada"}, []string{"email"}},
		"long address":    {map[string]any{"email": strings.Repeat("a", 250) + "@x.test"}, []string{"email"}},
		"empty names":     {map[string]any{"name": "", "tenantName": ""}, []string{"name", "tenantName"}},
		"long names":      {map[string]any{"name": strings.Repeat("n", 121), "tenantName": strings.Repeat("n", 121)}, []string{"name", "tenantName"}},
		"wrong types":     {map[string]any{"name": 1, "tenantName": true, "email": nil, "password": []int{1}}, []string{"email", "name", "password", "tenantName"}},
		"NUL in the name": {map[string]any{"name": "a\x00b"}, []string{"name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form := registration(t)
			maps.Copy(form, c.change)
			p := s.With(t, "").Call(t, "POST", "/v1/auth/register", form).Problem(t, 400, "invalid_input")
			require.ElementsMatch(t, c.fields, fieldsOf(p))
		})
	}
	p := s.With(t, "").Call(t, "POST", "/v1/auth/register", "{}").Problem(t, 400, "invalid_input")
	require.ElementsMatch(t, []string{"tenantName", "name", "email", "password"}, fieldsOf(p))
}

func TestLoginAnswersTheSameForWrongPasswordAndUnknownAddress(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	anyone := s.With(t, "")
	login := func(email, password string) apitest.Response {
		return anyone.Call(t, "POST", "/v1/auth/login", map[string]any{"email": email, "password": password})
	}
	s.Clock.Advance(time.Hour)
	var l api.Login
	login(strings.ToUpper(owner.Email), apitest.Password).Into(t, 201, &l)
	require.Equal(t, owner.UserID, l.User.ID)
	last, err := l.User.LastLoginAt.Get()
	require.NoError(t, err)
	require.WithinDuration(t, s.Clock.Now(), last.Time, 0)

	wrong := login(owner.Email, "not the password").Problem(t, 401, "invalid_credentials")
	unknown := login("nobody@example.test", apitest.Password).Problem(t, 401, "invalid_credentials")
	wrong.RequestID, unknown.RequestID = "", ""
	require.Equal(t, wrong, unknown)

	_, err = s.Pool.Exec(t.Context(), "UPDATE users SET status = 'DEACTIVATED' WHERE id = $1", owner.UserID)
	require.NoError(t, err)
	gone := login(owner.Email, apitest.Password).Problem(t, 401, "invalid_credentials")
	gone.RequestID = ""
	require.Equal(t, wrong, gone)

	p := anyone.Call(t, "POST", "/v1/auth/login", `{"email":7}`).Problem(t, 400, "invalid_input")
	require.ElementsMatch(t, []string{"email", "password"}, fieldsOf(p))
}

func TestSuspendedTenantIsLockedOut(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"SUSPENDED", "CANCELLED"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			owner := s.Register(t)
			key := owner.Key(t, tenancy.StreamsRead)
			key.Call(t, "GET", "/v1/me/streams", nil).Is(t, 200)
			owner.SetTenantStatus(t, status)
			s.Clock.Advance(2 * time.Second) // longer than credentials are cached
			owner.Call(t, "GET", "/v1/me", nil).Problem(t, 403, "tenant_suspended")
			key.Call(t, "GET", "/v1/me/streams", nil).Problem(t, 403, "tenant_suspended")
			s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": owner.Email, "password": apitest.Password}).
				Problem(t, 403, "tenant_suspended")
			s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": owner.Email, "password": "not the password"}).
				Problem(t, 401, "invalid_credentials")

			owner.SetTenantStatus(t, "ACTIVE")
			owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
		})
	}
}

func TestMeIsForUsersAlone(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	me, err := owner.Client.GetCurrentUserWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, owner.UserID, me.JSON200.ID)
	require.Equal(t, owner.Email, me.JSON200.Email)

	owner.Key(t, tenancy.AccountRead).Call(t, "GET", "/v1/auth/me", nil).Problem(t, 401, "unauthenticated")
	s.With(t, "").Call(t, "GET", "/v1/auth/me", nil).Problem(t, 401, "unauthenticated")
}

func TestIdentityShowsCallerAndPermissions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var all, builds, reads []api.Scope
	for _, e := range apitest.Document(t).Components.Schemas["Scope"].Value.Enum {
		scope := api.Scope(e.(string))
		area, right, _ := strings.Cut(string(scope), ":")
		all = append(all, scope)
		if right == "read" {
			reads = append(reads, scope)
		}
		if right == "read" || !slices.Contains([]string{"tenant", "team", "billing"}, area) {
			builds = append(builds, scope)
		}
	}
	for role, scopes := range map[tenancy.Role][]api.Scope{tenancy.Admin: all, tenancy.Developer: builds, tenancy.Viewer: reads} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			c := owner.Colleague(t, role)
			var who api.Identity
			c.Call(t, "GET", "/v1/me", nil).Into(t, 200, &who)
			require.Equal(t, owner.TenantID, who.Tenant.ID)
			require.Equal(t, api.UserRole(role), who.Role)
			require.ElementsMatch(t, scopes, who.Scopes)
			require.True(t, who.APIKeyID.IsNull())
			user, err := who.User.Get()
			require.NoError(t, err)
			require.Equal(t, c.UserID, user.ID)
		})
	}
	t.Run("key", func(t *testing.T) {
		t.Parallel()
		var who api.Identity
		owner.Key(t, tenancy.StreamsRead).Call(t, "GET", "/v1/me", nil).Into(t, 200, &who)
		require.Equal(t, api.UserRoleDEVELOPER, who.Role)
		require.Equal(t, []api.Scope{"streams:read"}, who.Scopes)
		require.True(t, who.User.IsNull())
		require.False(t, who.APIKeyID.IsNull())
	})
	t.Run("key without rights", func(t *testing.T) {
		t.Parallel()
		var who api.Identity
		owner.Key(t).Call(t, "GET", "/v1/me", nil).Into(t, 200, &who)
		require.Empty(t, who.Scopes)
	})
}

// fieldsOf names the faulty fields, each once, even if a field has several faults.
func fieldsOf(p api.Problem) []string {
	var names []string
	for _, f := range p.Errors {
		if !slices.Contains(names, f.Field) {
			names = append(names, f.Field)
		}
	}
	return names
}
