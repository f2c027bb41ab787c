package analytics

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
)

// Revenue is the revenue of paid orders in one currency.
type Revenue struct {
	Currency   string
	TotalCents int64
}

// Point holds the figures of one interval.
type Point struct {
	StartsAt              time.Time
	PeakViewers           int64
	WatchedMinutes, OnAir int64 // minutes, begun ones included
	Sessions, Orders      int64
	Revenue               []Revenue
}

// Series is one point per interval, oldest first.
type Series struct {
	From, To time.Time
	Interval Interval
	Points   []Point
}

// GetAnalytics is the tenant's figures from one instant to another, widened to
// whole intervals; nil for the last day or month until now.
func (s *Service) GetAnalytics(ctx context.Context, c tenancy.Caller, from, to *time.Time, by Interval) (Series, error) {
	start, end, err := by.span(from, to, s.now())
	if err != nil {
		return Series{}, err
	}
	out := Series{From: start, To: end, Interval: by}
	at := map[time.Time]int{}
	for t := start; t.Before(end); t = t.Add(by.length()) {
		at[t] = len(out.Points)
		out.Points = append(out.Points, Point{StartsAt: t})
	}
	point := func(t time.Time) *Point { return &out.Points[at[t.UTC()]] }
	if err := s.addFigures(ctx, c, out, point); err != nil {
		return Series{}, err
	}
	return out, s.addSales(ctx, c, out, point)
}

func (s *Service) addFigures(ctx context.Context, c tenancy.Caller, of Series, point func(time.Time) *Point) error {
	rows, err := db.New(s.pool).SumFigures(ctx, db.SumFiguresParams{
		TenantID: c.TenantID, Unit: string(of.Interval), Since: of.From, Until: of.To,
	})
	if err != nil {
		return fmt.Errorf("sum figures: %w", err)
	}
	for _, r := range rows {
		p := point(r.At)
		p.PeakViewers, p.Sessions = r.PeakViewers, r.Sessions
		p.WatchedMinutes, p.OnAir = r.SrsWatchedMinutes, r.SrsLiveMinutes
	}
	return s.addMinutes(ctx, c, of, point)
}

// addMinutes adds the minutes on air and watched of the usage, so that both agree. The usage has none of SRS servers.
func (s *Service) addMinutes(ctx context.Context, c tenancy.Caller, of Series, point func(time.Time) *Point) error {
	measured, err := s.usage.GetTimes(ctx, c.TenantID, usage.By(of.Interval), of.From, of.To, usage.StreamMinutes, usage.ViewerMinutes)
	if err != nil {
		return err
	}
	for _, l := range measured {
		minutes := l.Meter.Units(l.Amount)
		if l.Meter == usage.StreamMinutes {
			point(l.From).OnAir += minutes
		} else {
			point(l.From).WatchedMinutes += minutes
		}
	}
	return nil
}

func (s *Service) addSales(ctx context.Context, c tenancy.Caller, of Series, point func(time.Time) *Point) error {
	rows, err := db.New(s.pool).SumSales(ctx, db.SumSalesParams{
		TenantID: c.TenantID, Unit: string(of.Interval), Since: of.From, Until: of.To,
	})
	if err != nil {
		return fmt.Errorf("sum sales: %w", err)
	}
	for _, r := range rows {
		p := point(r.At)
		p.Orders += r.Orders
		if r.TotalCents > 0 { // currencies without revenue are not listed
			p.Revenue = append(p.Revenue, Revenue{r.Currency, r.TotalCents})
		}
	}
	return nil
}
