package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
)

// Retention deletes entries that are older than the retention period.
type Retention struct {
	pool *pgxpool.Pool
	keep func(ctx context.Context) (time.Duration, error)
	now  func() time.Time
}

// NewRetention makes a Retention. A keep of 0 keeps entries forever.
func NewRetention(pool *pgxpool.Pool, keep time.Duration, now func() time.Time) *Retention {
	return &Retention{pool, func(context.Context) (time.Duration, error) { return keep, nil }, now}
}

// Follow makes each run ask for the retention time.
func (r *Retention) Follow(keep func(ctx context.Context) (time.Duration, error)) { r.keep = keep }

// DeleteOld deletes them in batches, each in a transaction.
func (r *Retention) DeleteOld(ctx context.Context) error {
	keep, err := r.keep(ctx)
	if err != nil || keep == 0 {
		return err
	}
	before := r.now().Add(-keep)
	return postgres.DeleteInBatches(ctx, "audit entries", func(maxRows int32) (n int64, err error) {
		err = postgres.InTx(ctx, r.pool, func(tx pgx.Tx) error {
			q := db.New(tx)
			if err := q.AllowAuditRetention(ctx); err != nil {
				return fmt.Errorf("allow audit retention: %w", err)
			}
			n, err = q.DeleteAuditEntriesBefore(ctx, db.DeleteAuditEntriesBeforeParams{
				BeforeID: id.Earliest(id.Audit, before), Before: before, MaxRows: maxRows,
			})
			return err
		})
		return n, err
	})
}
