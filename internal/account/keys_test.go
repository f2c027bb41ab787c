package account_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/apitest"
	"showfloor/internal/dbtest"
	"showfloor/internal/id"
	"showfloor/internal/problem"
	"showfloor/internal/secret"
)

func open(t *testing.T, pool *pgxpool.Pool, master string, clock *apitest.Clock) (*account.Service, error) {
	t.Helper()
	box, err := secret.NewBox([]byte(master))
	require.NoError(t, err)
	return account.New(t.Context(), account.Config{Pool: pool, Box: box, Log: slog.New(slog.DiscardHandler), Now: clock.Now})
}

func register(t *testing.T, s *account.Service) account.Login {
	t.Helper()
	l, err := s.Register(t.Context(), account.Registration{
		TenantName: "Acme", Name: "Ada", Email: strings.ToUpper(id.New("u")) + "@example.test ", Password: apitest.Password,
	}, account.Origin{})
	require.NoError(t, err)
	return l
}

// TestServicesOnOneDatabaseShareTheirKeys: several processes start at once on
// an empty database, and agree.
func TestServicesOnOneDatabaseShareTheirKeys(t *testing.T) {
	t.Parallel()
	pool, clock := dbtest.New(t), apitest.NewClock()
	services := make([]*account.Service, 6)
	var wg sync.WaitGroup
	for i := range services {
		wg.Go(func() {
			var err error
			if services[i], err = open(t, pool, apitest.MasterKey, clock); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	keys, err := db.New(pool).ListSigningKeys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	l := register(t, services[0])
	for _, s := range services {
		c, err := s.Authenticate(t.Context(), l.Token)
		require.NoError(t, err)
		require.Equal(t, l.User.ID, c.UserID)
	}
}

func TestRotatedKeysKeepOldTokensValid(t *testing.T) {
	t.Parallel()
	pool, clock := dbtest.New(t), apitest.NewClock()
	old, err := open(t, pool, apitest.MasterKey, clock)
	require.NoError(t, err)
	before := register(t, old)

	box, err := secret.NewBox([]byte(apitest.MasterKey))
	require.NoError(t, err)
	kid := id.New(id.SigningKey)
	require.NoError(t, db.New(pool).CreateSigningKey(t.Context(), db.CreateSigningKeyParams{
		ID: kid, PrivateKey: box.Seal([]byte(strings.Repeat("s", 32)), "signing_keys/"+kid), Now: clock.Now(),
	}))
	rotated, err := open(t, pool, apitest.MasterKey, clock)
	require.NoError(t, err)
	_, err = rotated.Authenticate(t.Context(), before.Token)
	require.NoError(t, err, "signed with the key before")

	after := register(t, rotated)
	clock.Advance(6 * time.Second) // the other process looks for keys again
	c, err := old.Authenticate(t.Context(), after.Token)
	require.NoError(t, err, "signed with a key that this process has not seen")
	require.Equal(t, after.User.ID, c.UserID)

	_, err = pool.Exec(t.Context(), "UPDATE signing_keys SET retired_at = now() WHERE id <> $1", kid)
	require.NoError(t, err)
	retired, err := open(t, pool, apitest.MasterKey, clock)
	require.NoError(t, err)
	_, err = retired.Authenticate(t.Context(), before.Token)
	require.True(t, problem.Is(err, "unauthenticated"), "a retired key vouches for nobody")
}

func TestWrongMasterKeySaysSo(t *testing.T) {
	t.Parallel()
	pool, clock := dbtest.New(t), apitest.NewClock()
	_, err := open(t, pool, apitest.MasterKey, clock)
	require.NoError(t, err)
	_, err = open(t, pool, strings.Repeat("x", secret.KeySize), clock)
	require.ErrorContains(t, err, "MASTER_KEY")
	require.NotContains(t, err.Error(), "xxxx")
}

func TestFirstSuperAdminIsMadeOnce(t *testing.T) {
	t.Parallel()
	pool, clock := dbtest.New(t), apitest.NewClock()
	s, err := open(t, pool, apitest.MasterKey, clock)
	require.NoError(t, err)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var passwords []string
	for range 4 {
		wg.Go(func() {
			password, created, err := s.EnsureSuperAdmin(t.Context(), "Admin@Example.test", "")
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
	_, created, err := s.EnsureSuperAdmin(t.Context(), "other@example.test", "a password of its own")
	require.NoError(t, err)
	require.False(t, created)
	var email, hash string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT email, password_hash FROM admins").Scan(&email, &hash))
	require.Equal(t, "admin@example.test", email)
	require.NotContains(t, hash, passwords[0])
	var audited int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM audit_entries WHERE action = 'admin.create' AND after::text NOT LIKE '%' || $1 || '%'",
		passwords[0]).Scan(&audited))
	require.Equal(t, 1, audited)
}
