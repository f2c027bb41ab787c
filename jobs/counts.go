package jobs

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Count is how many jobs of a kind are in a state of the queue, such as
// "available" or "running".
type Count struct {
	Kind, State string
	N           int64
}

// Counts counts the unfinished jobs. Finished jobs are many and say nothing
// about the load.
func Counts(ctx context.Context, pool *pgxpool.Pool) ([]Count, error) {
	rows, err := pool.Query(ctx, `SELECT kind, state::text, count(*) FROM river_job
		WHERE state IN ('available', 'running', 'retryable', 'scheduled') GROUP BY kind, state ORDER BY kind, state`)
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Count])
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	return counts, nil
}
