package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
)

// waitsFor waits until a statement is blocked by a lock that the backend holds.
func waitsFor(t *testing.T, s *apitest.Server, backend uint32) {
	t.Helper()
	require.Eventually(t, func() bool {
		return count(t, s, "pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))", backend) > 0
	}, time.Minute, 10*time.Millisecond)
}

func TestAPasswordReplacedDuringALoginIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), "UPDATE users SET password_hash = 'another', token_version = token_version + 1 WHERE id = $1", owner.UserID)
	require.NoError(t, err)

	answer := make(chan apitest.Response, 1)
	go func() {
		answer <- s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": owner.Email, "password": apitest.Password})
	}()
	waitsFor(t, s, tx.Conn().PgConn().PID()) // the old password was already verified
	require.NoError(t, tx.Commit(t.Context()))
	(<-answer).Problem(t, 401, "invalid_credentials")
}
