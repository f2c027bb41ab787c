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
	keep time.Duration
	now  func() time.Time
}

// NewRetention makes a Retention. A keep of 0 keeps entries forever.
func NewRetention(pool *pgxpool.Pool, keep time.Duration, now func() time.Time) *Retention {
	return &Retention{pool, keep, now}
}

// DeleteOld deletes them in batches, each in a transaction.
func (r *Retention) DeleteOld(ctx context.Context) error {
	if r.keep == 0 {
		return nil
	}
	before := r.now().Add(-r.keep)
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
