package overage_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/usage"
)

// TestEachCentIsBilledOnce walks through months with lost answers, outages, slow sums of the processor, concurrent jobs and jobs that
// are broken off at any instant. In the end the processor has invoiced exactly the stored charges.
func TestEachCentIsBilledOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			r, dice := newRig(t), rand.New(rand.NewPCG(seed, 18))
			r.setAllowances(t, "PRO", charged("PUSHES", 100, 50, 10), charged("EGRESS_BYTES", 1000, 3, 7))
			r.Sandbox.DelayUsage(time.Duration(dice.IntN(30)) * time.Minute)
			for range 60 {
				r.chaos(t, dice)
			}
			for r.Overage.Charge(t.Context(), r.owner.TenantID) != nil || r.Subscriptions.SyncTenant(t.Context(), r.owner.TenantID) != nil {
				require.NoError(t, t.Context().Err()) // the planned failures are used up after some calls
			}
			r.pass(t, 40*day)
			charged, reported := r.stored(t)
			require.Positive(t, charged)
			require.Equal(t, charged, reported)
			paid, unpaid := r.charges(t)
			require.Equal(t, []int64{charged, 0}, []int64{paid, unpaid})
		})
	}
}

// chaos uses something, and lets hours pass in which calls fail.
func (r *rig) chaos(t *testing.T, dice *rand.Rand) {
	t.Helper()
	meter := []usage.Meter{usage.Pushes, usage.EgressBytes}[dice.IntN(2)]
	r.use(t, meter, r.Clock.Now(), 1+dice.Int64N(60))
	switch dice.IntN(6) {
	case 0:
		r.Sandbox.LoseAnswers(1+dice.IntN(3), "/v1/")
	case 1:
		r.Sandbox.LoseAnswers(1, "/v1/billing/meter_events")
	case 2:
		r.Sandbox.Fail(1+dice.IntN(3), "/v1/", 500)
	}
	r.Clock.Advance(time.Duration(dice.IntN(16*60)) * time.Minute)
	ctx, breakOff := context.WithCancel(t.Context())
	defer breakOff()
	if dice.IntN(3) == 0 { // as a killed process does
		time.AfterFunc(time.Duration(dice.IntN(40))*time.Millisecond, breakOff)
	}
	done := make(chan error, 2)
	for range cap(done) {
		go func() { done <- r.Overage.Charge(ctx, r.owner.TenantID) }()
	}
	for range cap(done) {
		if err := <-done; err != nil && ctx.Err() == nil {
			require.True(t, problem.Is(err, "processor_unavailable") || problem.Is(err, "conflict"), err)
		}
	}
	if err := r.Subscriptions.SyncTenant(t.Context(), r.owner.TenantID); err != nil {
		require.True(t, problem.Is(err, "processor_unavailable"), err)
	}
}

// TestALostReportIsSentAgain: a report that the processor has accepted, and that never appears in its sums, is reported again after a
// day; one that appears late isn't.
func TestALostReportIsSentAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 110)
	r.work(t)
	r.Sandbox.DelayUsage(20 * time.Hour)
	r.Clock.Advance(11 * time.Minute)
	r.work(t)
	_, reported := r.stored(t)
	require.Zero(t, reported, "accepted, but not in the sums")
	r.pass(t, 21*hour)
	_, reported = r.stored(t)
	require.EqualValues(t, 50, reported)
	reports := 0
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM overage_reports").Scan(&reports))
	require.Equal(t, 1, reports)

	r.Sandbox.DelayUsage(400 * day)
	r.push(t, 10)
	r.pass(t, 25*hour)
	r.Sandbox.DelayUsage(0)
	r.pass(t, 34*day)
	charged, reported := r.stored(t)
	require.Equal(t, []int64{100, 100}, []int64{charged, reported})
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM overage_reports WHERE status = 'LOST'").Scan(&reports))
	require.Equal(t, 1, reports)
}

// TestTheSpendCapIsAnnounced once at 80 and 100 %, by event and by mail to owners and administrators.
func TestTheSpendCapIsAnnounced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.owner.Colleague(t, "ADMIN")
	r.setCap(t, 500)
	for _, n := range []int64{100 + 79, 1, 1, 9, 10, 500} {
		r.push(t, n)
		r.work(t)
		r.work(t)
	}
	var list []api.EventRecord
	r.owner.Call(t, "GET", "/v1/me/events?event=usage.spend_cap&order=asc", nil).Into(t, 200, &list)
	var seen []any
	for _, e := range list {
		seen = append(seen, e.Data["percent"], e.Data["overageCents"], e.Data["capCents"])
	}
	require.Equal(t, []any{80.0, 400.0, 500.0, 100.0, 500.0, 500.0}, seen)
	mails := 0
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM mails WHERE kind = 'spend_cap'").Scan(&mails))
	require.Equal(t, 4, mails)
	require.Contains(t, r.LastMail(t, r.owner.Email).Text, "5.00 USD")
}

// TestYearsAreChargedByTheMonth: a yearly subscription pays its overage each month.
func TestYearsAreChargedByTheMonth(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.owner.Call(t, "PATCH", "/v1/me/billing/subscription", map[string]any{"interval": "YEAR"}).Is(t, 200)
	for range 3 {
		r.push(t, 120)
		r.pass(t, 31*day)
	}
	paid, unpaid := r.charges(t)
	require.Zero(t, unpaid)
	require.EqualValues(t, 300, paid)
}
