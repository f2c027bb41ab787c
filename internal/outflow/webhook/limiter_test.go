package webhook

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/outbound"
)

// visitor asks a limiter for room, and records the answers.
type visitor struct {
	*limiter

	mu     sync.Mutex
	pauses []time.Duration
	leaves []func()
}

// visit asks for n attempts concurrently.
func (v *visitor) visit(t *testing.T, n int, tenantID, endpointID string) {
	t.Helper()
	for range n {
		go func() {
			leave, pause, err := v.enter(t.Context(), tenantID, endpointID)
			v.mu.Lock()
			defer v.mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case leave == nil:
				v.pauses = append(v.pauses, pause)
			default:
				v.leaves = append(v.leaves, leave)
			}
		}()
	}
	synctest.Wait()
}

// leave ends the attempts in progress and returns their number.
func (v *visitor) leave() int {
	v.mu.Lock()
	leaves := v.leaves
	v.leaves = nil
	v.mu.Unlock()
	for _, leave := range leaves {
		leave()
	}
	synctest.Wait()
	return len(leaves)
}

func (v *visitor) counts() (going, sentAway int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.leaves), len(v.pauses)
}

// empty requires that the limiter stores nothing.
func (v *visitor) empty(t *testing.T) {
	t.Helper()
	require.Zero(t, v.going)
	require.Empty(t, v.tenants)
	require.Empty(t, v.endpoints)
}

func TestStalledEndpointHoldsItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visitor{limiter: newLimiter()}
		v.visit(t, 300, "ten_1", "wh_1")
		going, away := v.counts()
		require.Equal(t, endpointShare, going)
		require.Zero(t, away, "there may be room soon")
		time.Sleep(patience) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		going, away = v.counts()
		require.Equal(t, endpointShare, going)
		require.Equal(t, 300-endpointShare, away)
		slices.Sort(v.pauses) // recorded in any order
		for i, pause := range v.pauses {
			require.Equal(t, firstPause+time.Duration(i+1)*spacing, pause, "one after the other")
		}
		v.visit(t, 1, "ten_1", "wh_1")
		_, away = v.counts()
		require.Equal(t, 301-endpointShare, away, "further attempts are refused at once")
		for range 3 {
			v.visit(t, endpointShare, "ten_1", "wh_2")
		}
		going, _ = v.counts()
		require.Equal(t, 2*endpointShare, going, "the tenant's other endpoint has a share of its own")
		time.Sleep(outbound.Timeout) //nolint:forbidigo // of the bubble's clock
		v.leave()
		v.visit(t, 30, "ten_1", "wh_1")
		going, _ = v.counts()
		require.Equal(t, endpointShare, going, "an attempt that ran out of time is no sign of life")
		time.Sleep(patience) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		v.leave()
		v.empty(t)
	})
}

func TestStalledTenantsLeaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visitor{limiter: newLimiter()}
		for i := range 30 {
			v.visit(t, 50, "ten_1", fmt.Sprint("wh_", i))
		}
		going, _ := v.counts()
		require.Equal(t, tenantShare, going)
		for tenant := range 6 {
			for i := range 30 {
				v.visit(t, 50, fmt.Sprint("ten_", tenant+2), fmt.Sprint("wh_", tenant, i))
			}
		}
		require.Less(t, v.going, Workers, "however many stall")
		before, _ := v.counts()
		v.visit(t, 1, "ten_other", "wh_other")
		going, _ = v.counts()
		require.Equal(t, before+1, going)
		time.Sleep(patience) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		v.leave()
		v.empty(t)
	})
}

func TestQuickEndpointIsNotHeldBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visitor{limiter: newLimiter()}
		v.visit(t, Workers, "ten_1", "wh_1")
		time.Sleep(time.Millisecond) //nolint:forbidigo // of the bubble's clock
		require.Equal(t, endpointShare, v.leave())
		going, away := v.counts()
		require.Equal(t, Workers/2, going, "half of all, when its first attempts are over")
		require.Zero(t, away)
		for v.leave() > 0 {
			time.Sleep(time.Millisecond) //nolint:forbidigo // of the bubble's clock
		}
		_, away = v.counts()
		require.Zero(t, away, "no attempt was refused")
		v.empty(t)
	})
}

func TestACancelledWaiterLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visitor{limiter: newLimiter()}
		v.visit(t, endpointShare, "ten_1", "wh_1")
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, _, err := v.enter(ctx, "ten_1", "wh_1")
			failed <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		require.Equal(t, endpointShare, v.leave())
		v.empty(t)
	})
}
