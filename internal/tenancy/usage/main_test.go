package usage_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"showfloor/internal/base/id"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m, func() error { return goleak.Find() }) }

// hour is the time at which tests begin: a full hour.
var hour = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// tenant creates a tenant with streams.
func tenant(t *testing.T, pool *pgxpool.Pool, streams int) (tenantID string, streamIDs []string) {
	t.Helper()
	tenantID = id.New(id.Tenant)
	_, err := pool.Exec(t.Context(), `INSERT INTO tenants (id, name, created_at, updated_at) VALUES ($1, 'Acme', now(), now())`, tenantID)
	require.NoError(t, err)
	for range streams {
		streamID := id.New(id.Stream)
		streamIDs = append(streamIDs, streamID)
		_, err := pool.Exec(t.Context(), `INSERT INTO streams (id, tenant_id, name, mode, key_hash, key_last4, project_id, created_at, updated_at)
			VALUES ($1, $2, 'Show', 'STANDARD', convert_to($3, 'UTF8'), 'abcd', 'proj_1', now(), now())`, streamID, tenantID, streamID)
		require.NoError(t, err)
	}
	return tenantID, streamIDs
}

// script is a source whose usage a test sets.
type script struct {
	at   time.Time
	next []usage.Interval
}

// use adds a resource's usage in the next 10 s.
func (s *script) use(resourceID string, m usage.Meter, amount int64) {
	s.next = append(s.next, usage.Interval{ResourceID: resourceID, Meter: m, From: s.at, To: s.at.Add(10 * time.Second), Amount: amount})
}

// Read implements usage.Source.
func (s *script) Read() []usage.Interval {
	list := s.next
	s.next, s.at = nil, s.at.Add(10*time.Second)
	return list
}

// away makes a database unreachable while cut is set.
type away struct{ cut atomic.Bool }

var errAway = errors.New("the database is away")

// newAway opens another pool for a pool's database.
func newAway(t *testing.T, of *pgxpool.Pool) (*away, *pgxpool.Pool) {
	t.Helper()
	a := &away{}
	config := of.Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if a.cut.Load() {
			return nil, errAway
		}
		return dial(ctx, network, address)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return a, pool
}

// sum returns a tenant's total usage.
func sum(t *testing.T, s *usage.Service, tenantID string) usage.Amounts {
	t.Helper()
	amounts, err := s.Sum(t.Context(), tenantID, hour.AddDate(-1, 0, 0), hour.AddDate(1, 0, 0))
	require.NoError(t, err)
	return amounts
}

// count returns a tenant's number of intervals.
func count(t *testing.T, pool *pgxpool.Pool, tenantID string) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM usage_intervals WHERE tenant_id = $1`, tenantID).Scan(&n))
	return n
}
