package analytics

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/sums"
)

// SumFigures writes the sums of closed hours of all tenants, from which GetAnalytics reads.
func (s *Service) SumFigures(ctx context.Context) error {
	hours := sums.Writer{Name: sums.Figures, Unit: time.Hour, First: firstFigure, Write: writeFigures}
	return hours.Run(ctx, s.pool, s.now())
}

// AddRowCounts brings the numbers of rows up to date, from which GetOverview and the totals of admins' lists are read.
func (s *Service) AddRowCounts(ctx context.Context) error { return sums.AddRowCounts(ctx, s.pool) }

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
