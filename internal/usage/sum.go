package usage

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
)

// Amounts are sums by meter, in the unit of Interval.Amount. A meter that is missing is 0.
type Amounts map[Meter]int64

// Units is a sum in the unit that the API shows: minutes, rounded up, for meters of minutes.
func (a Amounts) Units(m Meter) int64 {
	switch m {
	case StreamMinutes, ViewerMinutes, ParticipantMinutes, RecordingMinutes, TranscodeMinutes:
		return (a[m] + 59) / 60
	case EgressBytes, IngressBytes, Pushes:
	}
	return a[m]
}

// Sum adds up what a tenant used in the intervals that begin from one instant on and before
// another. The part of an hour at the beginning is missing when its intervals have been
// deleted; see Config.Keep.
func (s *Service) Sum(ctx context.Context, tenantID string, from, until time.Time) (Amounts, error) {
	return sum(ctx, db.New(s.pool), tenantID, from, until)
}

// SumTx is Sum in a transaction.
func (*Service) SumTx(ctx context.Context, tx pgx.Tx, tenantID string, from, until time.Time) (Amounts, error) {
	return sum(ctx, db.New(tx), tenantID, from, until)
}

func sum(ctx context.Context, q *db.Queries, tenantID string, from, until time.Time) (Amounts, error) {
	first, last := hours(from, until)
	found, err := q.SumUsage(ctx, db.SumUsageParams{TenantID: tenantID, Since: from, FirstHour: first, LastHour: last, Until: until})
	if err != nil {
		return nil, fmt.Errorf("sum usage: %w", err)
	}
	amounts := Amounts{}
	for _, x := range found {
		amounts[Meter(x.Meter)] = x.Amount
	}
	return amounts, nil
}

// hours are the whole hours of a span, from the first until before the last; both are until
// when there is none.
func hours(from, until time.Time) (first, last time.Time) {
	first, last = from.UTC().Truncate(time.Hour), until.UTC().Truncate(time.Hour)
	if first.Before(from) {
		first = first.Add(time.Hour)
	}
	if !first.Before(last) {
		return until, until
	}
	return first, last
}
