package usage_test

import (
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/dbtest"
)

// amounts returns the sums of a tenant's seconds in the tables of hours, days and resources.
func amounts(t *testing.T, pool *pgxpool.Pool, tenantID string) (hours, days, resources int64) {
	t.Helper()
	err := pool.QueryRow(t.Context(), `SELECT
		(SELECT coalesce(sum(amount), 0) FROM usage_hours WHERE tenant_id = $1),
		(SELECT coalesce(sum(amount), 0) FROM usage_days WHERE tenant_id = $1),
		(SELECT coalesce(sum(amount), 0) FROM usage_resource_days WHERE tenant_id = $1)`, tenantID).Scan(&hours, &days, &resources)
	require.NoError(t, err)
	return hours, days, resources
}

// TestAllSumsAgree records batches of several streams over several days from many goroutines at once, each batch twice.
func TestAllSumsAgree(t *testing.T) {
	t.Parallel()
	pool := dbtest.Shared(t)
	s := usage.New(usage.Config{Pool: pool})
	tenantID, other := id.New(id.Tenant), id.New(id.Tenant)
	const writers, batches, intervals = 4, 5, 60
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for b := range batches {
				var list []usage.Interval
				for i := range intervals {
					of := []string{tenantID, other}[(w+i)%2] // the writers' orders differ
					from := hour.Add(time.Duration(b*intervals+i) * time.Hour)
					list = append(list, usage.Interval{
						Owner: usage.Owner{TenantID: of}, Source: "writer" + string(rune('a'+w)), ResourceID: "str_" + string(rune('a'+i%7)),
						Meter: usage.ViewerMinutes, Quality: string(rune('a' + i)), From: from, To: from.Add(time.Minute), Amount: 1,
					})
				}
				for range 2 {
					if _, err := s.Record(t.Context(), list); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	work.Wait()
	for _, of := range []string{tenantID, other} {
		hours, days, resources := amounts(t, pool, of)
		require.EqualValues(t, writers*batches*intervals/2, hours)
		require.Equal(t, hours, days)
		require.Equal(t, hours, resources)
	}
}

// TestOldSumsOfResourcesAreDeleted: the other sums stay.
func TestOldSumsOfResourcesAreDeleted(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	now := hour.AddDate(0, 0, 401)
	s := usage.New(usage.Config{Pool: pool, Now: func() time.Time { return now }})
	tenantID := id.New(id.Tenant)
	for _, from := range []time.Time{hour, hour.AddDate(0, 0, -1)} {
		_, err := s.Record(t.Context(), []usage.Interval{{
			Owner: usage.Owner{TenantID: tenantID}, Source: "job", ResourceID: "rec_1", Meter: usage.RecordingMinutes, From: from, To: from, Amount: 5,
		}})
		require.NoError(t, err)
	}
	require.NoError(t, s.DeleteOld(t.Context()))
	hours, days, resources := amounts(t, pool, tenantID)
	require.Equal(t, []int64{10, 10, 5}, []int64{hours, days, resources})
	require.Zero(t, count(t, pool, tenantID))
}
