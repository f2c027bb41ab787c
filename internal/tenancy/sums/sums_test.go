package sums

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestDayThatTakesTooLongIsSummedByHours: if a day's sums reach their time limit, the run goes on with hours.
func TestDayThatTakesTooLongIsSummedByHours(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	start := time.Date(2026, 3, 1, 21, 0, 0, 0, time.UTC)
	var written []string
	w := Writer{
		Name: Figures, dayLimit: 50 * time.Millisecond,
		First: func(_ context.Context, _ *db.Queries, from, _ time.Time) (time.Time, error) {
			if from.Before(start) {
				return start, nil
			}
			return from, nil
		},
		Write: func(ctx context.Context, _ *db.Queries, from, until time.Time) error {
			if until.Sub(from) > time.Hour {
				<-ctx.Done()
				return ctx.Err()
			}
			written = append(written, from.Format("2 15:04")+" to "+until.Format("15:04"))
			return nil
		},
	}
	require.NoError(t, w.Run(t.Context(), pool, start.Add(4*time.Hour+settleTime)))
	want := []string{"1 21:00 to 22:00", "1 22:00 to 23:00", "1 23:00 to 00:00", "2 00:00 to 01:00"}
	require.Equal(t, want, written)
	require.NoError(t, w.Run(t.Context(), pool, start.Add(4*time.Hour+settleTime)), "a second run has nothing to do")
	require.Equal(t, want, written)
}

// TestFailedHourEndsTheRun: the error of an hour is returned, and the mark stays.
func TestFailedHourEndsTheRun(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	var tries []time.Duration
	w := Writer{
		Name: Figures,
		First: func(context.Context, *db.Queries, time.Time, time.Time) (time.Time, error) {
			return time.Unix(0, 0), nil
		},
		Write: func(_ context.Context, _ *db.Queries, from, until time.Time) error {
			tries = append(tries, until.Sub(from))
			return context.DeadlineExceeded
		},
	}
	require.ErrorIs(t, w.Run(t.Context(), pool, time.Now()), context.DeadlineExceeded)
	require.Equal(t, []time.Duration{24 * time.Hour, time.Hour}, tries)
	var at time.Time
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT until FROM summed_until WHERE name = 'figures'").Scan(&at))
	require.Equal(t, time.Unix(0, 0).UTC(), at)
}
