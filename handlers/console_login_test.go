package handlers_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
)

// consoleRequest sends a request as a browser does that has these cookies.
func consoleRequest(
	t *testing.T, s *apitest.Server, method, path string, body any, header map[string]string, cookies ...*http.Cookie,
) apitest.Response {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, bytes.NewReader(text))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	for _, cookie := range cookies {
		r.AddCookie(cookie)
	}
	return s.With(t, "").Do(t, r)
}

var fromConsole = map[string]string{"X-Showfloor-Console": "1"}

func cookieOf(t *testing.T, r apitest.Response) *http.Cookie {
	t.Helper()
	cookie, err := http.ParseSetCookie(r.Header.Get("Set-Cookie"))
	require.NoError(t, err)
	require.True(t, cookie.HttpOnly)
	require.True(t, cookie.Secure, "the public URL is https")
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	return cookie
}

func TestConsoleLogin(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	login := map[string]any{"email": owner.Email, "password": apitest.Password}

	consoleRequest(t, s, "POST", "/v1/auth/console/login", login, nil).Problem(t, 400, "invalid_input")
	wrong := map[string]any{"email": owner.Email, "password": "another password"}
	consoleRequest(t, s, "POST", "/v1/auth/console/login", wrong, fromConsole).Problem(t, 401, "invalid_credentials")

	var l api.ConsoleLogin
	r := consoleRequest(t, s, "POST", "/v1/auth/console/login", login, fromConsole)
	r.Into(t, 201, &l)
	require.Equal(t, owner.UserID, l.User.ID)
	cookie := cookieOf(t, r)
	require.Equal(t, "showfloor_console", cookie.Name)
	require.Equal(t, "/v1", cookie.Path)
	require.WithinDuration(t, l.ExpiresAt.Time, cookie.Expires, time.Second)

	var me api.Identity
	consoleRequest(t, s, "GET", "/v1/me", nil, fromConsole, cookie).Into(t, 200, &me)
	require.Equal(t, owner.TenantID, me.Tenant.ID)
	consoleRequest(t, s, "POST", "/v1/me/streams", map[string]any{"name": "Show"}, fromConsole, cookie).Is(t, 201)
	consoleRequest(t, s, "GET", "/v1/admin/auth/me", nil, fromConsole, cookie).Problem(t, 401, "unauthenticated")

	s.Clock.Advance(13 * time.Hour)
	consoleRequest(t, s, "GET", "/v1/me", nil, fromConsole, cookie).Problem(t, 401, "token_expired")
}

func TestForgedRequestsDontUseTheCookie(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	cookie := &http.Cookie{Name: "showfloor_console", Value: owner.Token}

	for name, header := range map[string]map[string]string{
		"no header":    nil,
		"wrong header": {"X-Showfloor-Console": "2"},
		"other site":   {"X-Showfloor-Console": "1", "Sec-Fetch-Site": "cross-site"},
		"other host":   {"X-Showfloor-Console": "1", "Sec-Fetch-Site": "same-site"},
	} {
		for _, method := range []string{"GET", "POST"} {
			path := map[string]string{"GET": "/v1/me", "POST": "/v1/me/streams"}[method]
			require.Equal(t, 401, consoleRequest(t, s, method, path, map[string]any{"name": "Show"}, header, cookie).Status, name)
		}
	}
	var me api.Identity
	header := map[string]string{"X-Showfloor-Console": "1", "Authorization": "Bearer " + other.Token}
	consoleRequest(t, s, "GET", "/v1/me", nil, header, cookie).Into(t, 200, &me)
	require.Equal(t, other.TenantID, me.Tenant.ID, "the header comes first")
}

func TestConsoleLogout(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for path, cookie := range map[string]string{
		"/v1/auth/console/logout": "showfloor_console", "/v1/admin/auth/console/logout": "showfloor_admin",
	} {
		consoleRequest(t, s, "POST", path, nil, nil).Problem(t, 400, "invalid_input")
		var done api.ConsoleLogout
		r := consoleRequest(t, s, "POST", path, nil, fromConsole)
		r.Into(t, 201, &done)
		require.True(t, done.LoggedOut)
		deleted := cookieOf(t, r)
		require.Equal(t, cookie, deleted.Name)
		require.Empty(t, deleted.Value)
		require.True(t, deleted.Expires.Before(s.Clock.Now()))
	}
}

func TestLogoutEndsTheLogin(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	as, _ := impersonate(t, s, root, owner.TenantID, nil)
	for _, one := range []struct {
		caller               *apitest.Caller
		cookie, logout, self string
	}{
		{owner, "showfloor_console", "/v1/auth/console/logout", "/v1/me"},
		{root, "showfloor_admin", "/v1/admin/auth/console/logout", "/v1/admin/auth/me"},
	} {
		cookie := &http.Cookie{Name: one.cookie, Value: one.caller.Token}
		consoleRequest(t, s, "POST", one.logout, nil, nil, cookie).Problem(t, 400, "invalid_input")
		one.caller.Call(t, "GET", one.self, nil).Is(t, 200)
		for range 2 { // the second one finds no login any more
			consoleRequest(t, s, "POST", one.logout, nil, fromConsole, cookie).Is(t, 201)
		}
		s.Clock.Advance(time.Second)
		one.caller.Call(t, "GET", one.self, nil).Problem(t, 401, "token_revoked")
	}
	as.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_revoked")
	consoleRequest(t, s, "POST", "/v1/auth/console/logout", nil, fromConsole, &http.Cookie{Name: "showfloor_console", Value: "made up"}).Is(t, 201)
}

func TestAdminConsoleLogin(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	admin := s.Admin(t, platform.Support)
	login := map[string]any{"email": admin.Email, "password": apitest.Password}
	consoleRequest(t, s, "POST", "/v1/admin/auth/console/login", login, nil).Problem(t, 400, "invalid_input")

	var l api.AdminConsoleLogin
	r := consoleRequest(t, s, "POST", "/v1/admin/auth/console/login", login, fromConsole)
	r.Into(t, 201, &l)
	require.Equal(t, admin.UserID, l.Admin.ID)
	cookie := cookieOf(t, r)
	require.Equal(t, "/v1/admin", cookie.Path)
	consoleRequest(t, s, "GET", "/v1/admin/tenants", nil, fromConsole, cookie).Is(t, 200)
	consoleRequest(t, s, "GET", "/v1/admin/tenants", nil, nil, cookie).Problem(t, 401, "unauthenticated")
	consoleRequest(t, s, "GET", "/v1/me", nil, fromConsole, cookie).Problem(t, 401, "unauthenticated")
}
