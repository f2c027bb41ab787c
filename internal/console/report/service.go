// Package report has the figures of all tenants: the dashboard, the activity of each area, and reports over time.
//
// It owns the sums of closed hours in activity_hours, activity_days and stream_days, which a job writes. Figures are these sums plus the
// rows since, so no request reads rows of earlier days.
package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/tenancy/apicall"
)

const (
	day = 24 * time.Hour
	// keepDays is how long sums of hours and of tenants are kept. Those of days of all tenants are kept forever.
	keepDays = 400
)

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Calls are the calls of the API.
	Calls *apicall.Service
	// OpenTickets counts the tickets that are OPEN or PENDING; nil for none.
	OpenTickets func(ctx context.Context) (int64, error)
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the reports.
type Service struct {
	pool        *pgxpool.Pool
	calls       *apicall.Service
	openTickets func(ctx context.Context) (int64, error)
	now         func() time.Time
}

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.OpenTickets == nil {
		c.OpenTickets = func(context.Context) (int64, error) { return 0, nil }
	}
	return &Service{c.Pool, c.Calls, c.OpenTickets, c.Now}
}

// span returns the first day and the end of a report of days up to and including today (UTC).
func span(now time.Time, days int) (from, to time.Time) {
	return now.UTC().Truncate(day).AddDate(0, 0, 1-days), now.UTC()
}
