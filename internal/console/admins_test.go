package console_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// own returns a server whose admins no other test uses.
func own(t *testing.T) *apitest.Server {
	t.Helper()
	return apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
}

func TestFirstSuperAdminIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := own(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var passwords []string
	for range 4 {
		wg.Go(func() {
			password, created, err := s.Console.EnsureSuperAdmin(t.Context(), "Admin@Example.test", "")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if created {
				passwords = append(passwords, password)
			}
		})
	}
	wg.Wait()
	require.Len(t, passwords, 1)
	require.Len(t, passwords[0], 24)
	_, created, err := s.Console.EnsureSuperAdmin(t.Context(), "other@example.test", "a password of its own")
	require.NoError(t, err)
	require.False(t, created)
	admins, err := s.Console.ListAdmins(t.Context())
	require.NoError(t, err)
	require.Len(t, admins, 1)
	require.Equal(t, "admin@example.test", admins[0].Email)
	require.Equal(t, "SUPER_ADMIN", admins[0].Role)
	require.NotContains(t, admins[0].PasswordHash, passwords[0])
	var audited int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM audit_entries WHERE action = 'admin.create' AND after::text NOT LIKE '%' || $1 || '%'",
		passwords[0]).Scan(&audited))
	require.Equal(t, 1, audited)
}

func TestAdminsAreMadeAndRemoved(t *testing.T) {
	t.Parallel()
	s := own(t)
	ctx, cli := t.Context(), audit.System("cli")
	_, _, err := s.Console.CreateAdmin(ctx, cli, "root@example.test", platform.SuperAdmin, apitest.Password)
	require.NoError(t, err)
	_, made, err := s.Console.CreateAdmin(ctx, cli, " Help@Example.test ", platform.Support, "")
	require.NoError(t, err)
	_, err = s.Console.LoginAdmin(ctx, account.Credentials{Email: "help@example.test", Password: made}, tenancy.Origin{})
	require.NoError(t, err)

	_, _, err = s.Console.CreateAdmin(ctx, cli, "HELP@example.test", platform.Billing, "")
	require.True(t, problem.Is(err, "conflict"), err)
	_, _, err = s.Console.CreateAdmin(ctx, cli, "king@example.test", "KING", "")
	require.True(t, problem.Is(err, "invalid_input"), err)

	require.True(t, problem.Is(s.Console.RemoveAdmin(ctx, cli, "nobody@example.test"), "not_found"))
	require.True(t, problem.Is(s.Console.RemoveAdmin(ctx, cli, "root@example.test"), "conflict"), "the last one who may do everything")
	require.NoError(t, s.Console.RemoveAdmin(ctx, cli, "help@example.test"))
	_, err = s.Console.LoginAdmin(ctx, account.Credentials{Email: "help@example.test", Password: made}, tenancy.Origin{})
	require.True(t, problem.Is(err, "invalid_credentials"))
}

func TestAnAdminsPasswordIsReset(t *testing.T) {
	t.Parallel()
	s := own(t)
	root := s.Admin(t, platform.SuperAdmin)
	root.Call(t, "GET", "/v1/admin/auth/me", nil).Is(t, 200)
	fresh, err := s.Console.ResetAdminPassword(t.Context(), audit.System("cli"), root.Email, "")
	require.NoError(t, err)
	root.Call(t, "GET", "/v1/admin/auth/me", nil).Problem(t, 401, "token_revoked")
	_, err = s.Console.LoginAdmin(t.Context(), account.Credentials{Email: root.Email, Password: apitest.Password}, tenancy.Origin{})
	require.True(t, problem.Is(err, "invalid_credentials"))
	_, err = s.Console.LoginAdmin(t.Context(), account.Credentials{Email: root.Email, Password: fresh}, tenancy.Origin{})
	require.NoError(t, err)
	_, err = s.Console.ResetAdminPassword(t.Context(), audit.System("cli"), "nobody@example.test", "")
	require.True(t, problem.Is(err, "not_found"))
}
