package analytics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/sums"
)

// fillAtOnce is the number of hours that one statement fills in.
const fillAtOnce = 1000

// SumFigures writes the sums of closed hours of all tenants, from which GetAnalytics reads.
func (s *Service) SumFigures(ctx context.Context) error {
	w := sums.Writer{Name: sums.Figures, First: firstFigure, Write: writeFigures}
	return errors.Join(w.Run(ctx, s.pool, s.now()), s.fillSRSMinutes(ctx))
}

// fillSRSMinutes adds the minutes on SRS servers to hours that a server of a former version has summed, fillAtOnce in each transaction.
func (s *Service) fillSRSMinutes(ctx context.Context) error {
	for {
		n, err := db.New(s.pool).FillSRSMinutes(ctx, fillAtOnce)
		if err != nil {
			return fmt.Errorf("fill in minutes of SRS servers: %w", err)
		}
		if n < fillAtOnce {
			return nil
		}
	}
}

// AddRowCounts adds up the changes of the row counts, from which GetOverview and the totals of admins' lists are read.
func (s *Service) AddRowCounts(ctx context.Context) error { return sums.AddRowCounts(ctx, s.pool) }

// DeleteOld deletes the sums of audience that is older than stream.KeepAudience. Sales and numbers of sessions are kept forever.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.pool), s.now().Add(-stream.KeepAudience)
	return errors.Join(
		postgres.DeleteInBatches(ctx, "figures", func(maxRows int32) (int64, error) {
			return q.DeleteFigureHoursBefore(ctx, db.DeleteFigureHoursBeforeParams{Before: before, MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "figures of the audience", func(maxRows int32) (int64, error) {
			return q.ClearAudienceOfHoursBefore(ctx, db.ClearAudienceOfHoursBeforeParams{Before: before, MaxRows: maxRows})
		}),
	)
}

func firstFigure(ctx context.Context, q *db.Queries, from, until time.Time) (time.Time, error) {
	return q.FindFirstFigure(ctx, db.FindFirstFigureParams{Since: from, Until: until})
}

func writeFigures(ctx context.Context, q *db.Queries, from, until time.Time) error {
	if err := q.WriteFigureHours(ctx, db.WriteFigureHoursParams{Since: from, Until: until}); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	if err := q.WriteSalesHours(ctx, db.WriteSalesHoursParams{Since: from, Until: until}); err != nil {
		return fmt.Errorf("write sales: %w", err)
	}
	return nil
}
