// Package analytics counts a tenant's viewers, broadcasts, sessions and sales over time.
// It reads the rows that other areas write, and keeps sums of closed hours.
package analytics

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Service holds the use cases.
type Service struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// New makes the service on a clock.
func New(pool *pgxpool.Pool, now func() time.Time) *Service { return &Service{pool: pool, now: now} }
