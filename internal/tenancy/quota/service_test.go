package quota_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestProcessorCallsPerMinute: exactly as many as the plan allows, and as many
// again in the next minute.
func TestProcessorCallsPerMinute(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	take := func() (allowed int64) {
		var n atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				err := s.Quotas.TakeProcessorCall(t.Context(), owner.TenantID)
				var refusal *problem.Error
				switch {
				case err == nil:
					n.Add(1)
				case !errors.As(err, &refusal) || refusal.Code != "rate_limited":
					t.Error(err)
				default:
					require.Equal(t, &problem.Limit{Name: "maxProcessorCalls", Value: 30, Plan: "FREE", UpgradeTo: "STARTER"}, refusal.Limit)
					require.LessOrEqual(t, refusal.RetryAfter, time.Minute)
				}
			})
		}
		wg.Wait()
		return n.Load()
	}
	// Within one minute of the database's clock.
	minute := func() (m time.Time) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT date_trunc('minute', now())").Scan(&m))
		return m
	}
	nextMinute := func() {
		_, err := s.Pool.Exec(t.Context(), "UPDATE processor_calls SET minute = minute - interval '1 minute' WHERE tenant_id = $1", owner.TenantID)
		require.NoError(t, err)
	}
	for range 2 {
		for {
			nextMinute()
			began, allowed := minute(), take()
			if began.Equal(minute()) {
				require.EqualValues(t, 30, allowed)
				break
			}
		}
	}
}
