package allowance_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/commerce/allowance"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// rig is a tenant with some usage, on a database of its own.
type rig struct {
	*apitest.Server

	owner *apitest.Caller
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	return &rig{s, s.Register(t)}
}

// push records pushes, of which FREE includes 10,000.
func (r *rig) push(t *testing.T, n int64) {
	t.Helper()
	r.Clock.Advance(time.Second)
	now := r.Clock.Now()
	_, err := r.Usage.Record(t.Context(), []usage.Interval{{
		Owner: usage.Owner{TenantID: r.owner.TenantID}, Source: "test", ResourceID: "res", Meter: usage.Pushes, From: now, To: now, Amount: n,
	}})
	require.NoError(t, err)
}

// heard returns the percents of the events, oldest first.
func (r *rig) heard(t *testing.T) (percents []float64) {
	t.Helper()
	var list []api.EventRecord
	r.owner.Call(t, "GET", "/v1/me/events?event=usage.threshold&order=asc", nil).Into(t, 200, &list)
	for _, e := range list {
		require.Equal(t, "PUSHES", e.Data["meter"])
		percents = append(percents, e.Data["percent"].(float64))
	}
	return percents
}

// mails is the number of mails of thresholds.
func (r *rig) mails(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM mails WHERE kind = 'usage_threshold'").Scan(&n))
	return n
}

func TestEachThresholdIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.owner.Colleague(t, "ADMIN")
	r.owner.Colleague(t, "DEVELOPER")
	notify := func() { require.NoError(t, r.Allowances.NotifyThresholds(t.Context())) }
	r.push(t, 7999)
	notify()
	require.Empty(t, r.heard(t))
	r.push(t, 1)
	var runs sync.WaitGroup
	for range 8 {
		runs.Go(func() {
			if err := r.Allowances.NotifyThresholds(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	require.Equal(t, []float64{80}, r.heard(t))
	require.Equal(t, 2, r.mails(t), "to the owner and the administrator")
	r.push(t, 2000)
	notify()
	notify()
	require.Equal(t, []float64{80, 100}, r.heard(t))
	require.Equal(t, 4, r.mails(t))

	r.Clock.Advance(32 * 24 * time.Hour)
	r.owner = r.owner.LogInAgain(t)
	r.push(t, 20_000)
	notify()
	require.Equal(t, []float64{80, 100, 100}, r.heard(t), "the next period; 80 is left out beside 100")
}

// TestThresholdsAreInTheUsage checks what the tenant's page shows.
func TestThresholdsAreInTheUsage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 9000)
	var u api.BillingUsage
	r.owner.Call(t, "GET", "/v1/me/billing/usage", nil).Into(t, 200, &u)
	for _, m := range u.Meters {
		want := 0
		if m.Meter == "PUSHES" {
			want = 80
		}
		require.Equal(t, want, *m.ReachedPercent, m.Meter)
		require.Equal(t, api.PlanOverageALLOW, *m.Overage)
	}
}

// crashing fails at the last step of a transaction.
type crashing struct{}

var errCrash = errors.New("crash")

func (crashing) MailAdministratorsTx(context.Context, pgx.Tx, string, func(db.User, db.Tenant) mail.Letter) error {
	return errCrash
}

// TestACrashLosesNoThreshold: if the process ends before the commit, nothing is written, and the next run announces it.
func TestACrashLosesNoThreshold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 10_000)
	broken := allowance.New(allowance.Config{
		Pool: r.Pool, Usage: r.Usage, Events: event.NewLog(r.Clock.Now), Accounts: crashing{}, Now: r.Clock.Now,
	})
	require.ErrorIs(t, broken.NotifyThresholds(t.Context()), errCrash)
	require.Empty(t, r.heard(t))
	require.NoError(t, r.Allowances.NotifyThresholds(t.Context()))
	require.Equal(t, []float64{100}, r.heard(t))
	require.Equal(t, 1, r.mails(t))
	text := r.LastMail(t, r.owner.Email).Text
	require.Contains(t, text, "100 % of the pushes: 10000 of 10000. More is not charged.")
}

// ending ends the context of the comparison with the first tenant that is read.
type ending struct {
	allowance.Usage

	end  context.CancelFunc
	read []string
}

func (e *ending) GetUsage(ctx context.Context, tenantID string) (usage.Period, error) {
	e.read = append(e.read, tenantID)
	if len(e.read) == 2 {
		e.end()
	}
	return e.Usage.GetUsage(ctx, tenantID) //nolint:wrapcheck // the caller sees it as without this type
}

// TestABrokenOffComparisonContinues: the next call begins with the tenant at which the time was over, and the one after that with all.
func TestABrokenOffComparisonContinues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ids := []string{r.owner.TenantID}
	r.push(t, 1)
	for range 2 {
		r.owner = r.Register(t)
		ids = append(ids, r.owner.TenantID)
		r.push(t, 1)
	}
	slices.Sort(ids)
	ctx, end := context.WithCancel(t.Context())
	watched := &ending{Usage: r.Usage, end: end}
	s := allowance.New(allowance.Config{Pool: r.Pool, Usage: watched, Events: event.NewLog(r.Clock.Now), Accounts: crashing{}, Now: r.Clock.Now})
	require.ErrorIs(t, s.NotifyThresholds(ctx), context.Canceled)
	require.Equal(t, ids[:2], watched.read)
	require.NoError(t, s.NotifyThresholds(t.Context()))
	require.Equal(t, append(ids[:2:2], ids[1:]...), watched.read)
	require.NoError(t, s.NotifyThresholds(t.Context()))
	require.Len(t, watched.read, 7)
}
