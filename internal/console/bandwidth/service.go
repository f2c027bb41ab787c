// Package bandwidth shows operators the bytes in and out, and imports the logs of CDNs, whose bytes are part of tenants' usage.
package bandwidth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/tenancy/usage"
)

// keepIDs is how long the ids of imported rows are kept, so that a repeated row doesn't count again.
const keepIDs = 30 * 24 * time.Hour

// Config of a Service.
type Config struct {
	Pool  *pgxpool.Pool
	Usage *usage.Service
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases.
type Service struct {
	pool  *pgxpool.Pool
	usage *usage.Service
	now   func() time.Time
}

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c.Pool, c.Usage, c.Now}
}

// DeleteOld deletes the ids of rows that were imported more than 30 days ago.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.pool), s.now().Add(-keepIDs)
	return postgres.DeleteInBatches(ctx, "CDN requests", func(maxRows int32) (int64, error) {
		return q.DeleteCdnRequestsBefore(ctx, db.DeleteCdnRequestsBeforeParams{Before: before, MaxRows: maxRows})
	})
}

// ResourceOf returns the stream or recording that a path names; see playtoken.ResourceOf.
func ResourceOf(path string) string { return playtoken.ResourceOf(path) }
