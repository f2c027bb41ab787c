package audit

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/sums"
)

// Days counts the entries of each day, for the totals of the admins' list.
type Days struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// NewDays makes a Days.
func NewDays(pool *pgxpool.Pool, now func() time.Time) *Days { return &Days{pool, now} }

// CountDays adds the entries of the hours that ended since the last run to the numbers of their days.
func (d *Days) CountDays(ctx context.Context) error {
	w := sums.Writer{Name: sums.Audit, First: firstEntry, Write: writeDays}
	return w.Run(ctx, d.pool, d.now())
}

func firstEntry(ctx context.Context, q *db.Queries, from, until time.Time) (time.Time, error) {
	return q.FindFirstAuditEntry(ctx, db.FindFirstAuditEntryParams{Since: from, Until: until})
}

func writeDays(ctx context.Context, q *db.Queries, from, until time.Time) error {
	return q.WriteAuditDays(ctx, db.WriteAuditDaysParams{Since: from, Until: until})
}
