package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy/sums"
)

const (
	// idSlack is how far the time in an id may be from the time in its row, which another clock may have set.
	idSlack = 2 * time.Hour
	// lateDays is how many days before today are summed again, because nodes may report usage late.
	lateDays = 2
)

// SumActivity writes the sums of the hours that ended since the last run.
func (s *Service) SumActivity(ctx context.Context) error {
	w := sums.Writer{Name: sums.Activity, First: firstActivity, Write: writeActivity}
	if err := w.Run(ctx, s.pool, s.now()); err != nil {
		return err
	}
	if err := db.New(s.pool).WriteStreamMinutes(ctx, s.now().UTC().Truncate(day).AddDate(0, 0, -lateDays)); err != nil {
		return fmt.Errorf("write minutes of streams: %w", err)
	}
	return nil
}

// bound returns an id without its prefix that sorts as ids of a time do.
func bound(at time.Time) string {
	_, text, _ := strings.Cut(id.Earliest(id.Event, at), "_")
	return text
}

func firstActivity(ctx context.Context, q *db.Queries, from, until time.Time) (time.Time, error) {
	at, err := q.FindFirstActivity(ctx, db.FindFirstActivityParams{Since: from, Until: until, FirstTime: bound(from)})
	if err == nil && at.Before(from) { // the clock of an id was ahead of the row's
		at = from
	}
	return at, err
}

// listActivity counts the rows of a time.
func listActivity(ctx context.Context, q *db.Queries, from, until time.Time) ([]db.ListActivityRow, error) {
	rows, err := q.ListActivity(ctx, db.ListActivityParams{
		Since: from, Until: until, FirstTime: bound(from.Add(-idSlack)), EndTime: bound(until.Add(idSlack)),
	})
	if err != nil {
		return nil, fmt.Errorf("list activity: %w", err)
	}
	return rows, nil
}

// writeActivity adds hours of one day.
func writeActivity(ctx context.Context, q *db.Queries, from, until time.Time) error {
	rows, err := listActivity(ctx, q, from, until)
	if err != nil {
		return err
	}
	today := from.UTC().Truncate(day)
	hours, days := db.AddActivityHoursParams{}, db.AddActivityDaysParams{Day: today}
	for _, r := range rows {
		hours.Areas, hours.Hours, hours.Ns = append(hours.Areas, r.Area), append(hours.Hours, r.Hour), append(hours.Ns, r.N)
		days.TenantIds, days.Areas = append(days.TenantIds, r.TenantID), append(days.Areas, r.Area)
		days.Ns, days.LastAts = append(days.Ns, r.N), append(days.LastAts, r.LastAt)
	}
	if err := q.AddActivityHours(ctx, hours); err != nil {
		return fmt.Errorf("add activity by hour: %w", err)
	}
	if err := q.AddActivityDays(ctx, days); err != nil {
		return fmt.Errorf("add activity by day: %w", err)
	}
	if err := q.WriteStreamDay(ctx, db.WriteStreamDayParams{Day: today, Since: from, Until: until}); err != nil {
		return fmt.Errorf("write day of streams: %w", err)
	}
	return nil
}

// DeleteOld deletes sums of hours and of tenants that are more than 400 days old.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.pool), s.now().AddDate(0, 0, -keepDays)
	return errors.Join(
		postgres.DeleteInBatches(ctx, "activity of hours", func(maxRows int32) (int64, error) {
			return q.DeleteActivityHoursBefore(ctx, db.DeleteActivityHoursBeforeParams{Before: before, MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "activity of tenants", func(maxRows int32) (int64, error) {
			return q.DeleteActivityDaysBefore(ctx, db.DeleteActivityDaysBeforeParams{Before: before, MaxRows: maxRows})
		}),
	)
}
