package push_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/push"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestVoidPushesDontPileUp: only pushes whose time has passed are deleted.
func TestVoidPushesDontPileUp(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	s.Register(t) // another tenant, with its own jobs
	add := func(user string, expires time.Duration) {
		err := postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
			_, err := s.Inserter.InsertManyTx(t.Context(), tx, []river.InsertManyParams{{Args: push.Args{
				TenantID: "ten_1", UserID: user, Data: map[string]string{"service": "1"}, Priority: push.High,
				ExpiresAt: timestamp.From(s.Clock.Now().Add(expires)),
			}}})
			return err
		})
		require.NoError(t, err)
	}
	count := func(where string) (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE "+where).Scan(&n))
		return n
	}
	others := count("kind <> 'push_send'")
	add("void", -time.Second)
	add("sending", -time.Second)
	add("ben", time.Second)
	_, err := s.Pool.Exec(t.Context(), "UPDATE river_job SET state = 'running' WHERE args ->> 'userId' = 'sending'")
	require.NoError(t, err)
	for _, k := range s.Keepers() {
		require.NoError(t, k.DeleteOld(t.Context()))
	}
	require.Zero(t, count("args ->> 'userId' = 'void'"))
	require.Equal(t, 2, count("kind = 'push_send'"))
	require.Equal(t, others, count("kind <> 'push_send'"))
}
