package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Planned runs statements on Pool that PostgreSQL plans for the arguments of each execution. It implements db.DBTX.
//
// Lists and searches with optional filters need it: from the sixth execution of a prepared statement on, PostgreSQL may keep one plan
// for all arguments, and such a plan may read all rows of a tenant. Planning takes up to a millisecond, so other statements use the pool
// itself.
type Planned struct{ Pool *pgxpool.Pool }

// Exec implements db.DBTX.
func (p Planned) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return p.Pool.Exec(ctx, sql, planned(args)...)
}

// Query implements db.DBTX.
//
//nolint:ireturn // db.DBTX determines the type
func (p Planned) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.Pool.Query(ctx, sql, planned(args)...)
}

// QueryRow implements db.DBTX.
//
//nolint:ireturn // db.DBTX determines the type
func (p Planned) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return p.Pool.QueryRow(ctx, sql, planned(args)...)
}

// planned makes the driver send the statement's text with each execution, in the same round trip.
func planned(args []any) []any { return append([]any{pgx.QueryExecModeCacheDescribe}, args...) }
