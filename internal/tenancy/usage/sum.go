package usage

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
)

// Amounts are sums by meter, in the unit of Interval.Amount. A missing meter is 0.
type Amounts map[Meter]int64

// Units returns a sum in the unit that the API shows.
func (a Amounts) Units(m Meter) int64 { return m.Units(a[m]) }

// Amount is the sum of one meter, in the unit of Interval.Amount.
type Amount struct {
	Meter Meter
	Value int64
}

// List returns the sums of meters that the API shows, in its order. Meters without usage are left out.
func (a Amounts) List() (list []Amount) {
	for _, m := range shown() {
		if a[m] > 0 {
			list = append(list, Amount{m, a[m]})
		}
	}
	return list
}

// Units converts an amount to the unit that the API shows: minutes, rounded up, for meters of minutes.
func (m Meter) Units(amount int64) int64 {
	if m.Timed() {
		return (amount + 59) / 60
	}
	return amount
}

// Timed reports whether a meter's amounts are seconds, which the API shows as minutes.
func (m Meter) Timed() bool {
	switch m {
	case StreamMinutes, ViewerMinutes, ParticipantMinutes, RecordingMinutes, TranscodeMinutes:
		return true
	case StorageBytes, EgressBytes, IngressBytes, Pushes, CDNBytes, RoomBytes, CDNFillBytes, RestreamBytes:
	}
	return false
}

// Sum adds up a tenant's usage in the intervals that begin at or after from and before
// until. If from is within an hour whose intervals have been deleted, the sum lacks that
// part of an hour; see Config.Keep.
func (s *Service) Sum(ctx context.Context, tenantID string, from, until time.Time) (Amounts, error) {
	return sum(ctx, db.New(s.pool), tenantID, from, until)
}

// SumTx does the same as Sum in a transaction.
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

// hours returns the whole hours of a span, from first until before last. If there is none,
// both are until.
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
