package postgres

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Index is a GIN index that Migrate builds outside the migrations, because it needs an extension that not every database has.
type Index struct {
	Name, Table string
	Columns     []string
	// Extension has OperatorClass, in any schema. Without it, the index isn't built.
	Extension, OperatorClass string
}

// buildMissingIndexes adds the indexes that are missing if the database has their table and extension. It doesn't block
// writers. It builds an index again whose build was interrupted. An index only makes queries faster, so its failure is a warning.
func buildMissingIndexes(ctx context.Context, pool *pgxpool.Pool, indexes []Index, log *slog.Logger) error {
	for _, index := range indexes {
		if err := index.build(ctx, pool, log); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			log.Warn("an index can't be built; searches read the whole table", "index", index.Name, "table", index.Table, "error", err)
		}
	}
	return nil
}

// build adds the index if it is missing and can be built.
func (x Index) build(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	home, err := x.missing(ctx, pool)
	if err != nil || home == "" {
		return err
	}
	began := time.Now()
	name, columns := pgx.Identifier{x.Name}.Sanitize(), make([]string, len(x.Columns))
	for i, column := range x.Columns {
		columns[i] = pgx.Identifier{column}.Sanitize() + " " + pgx.Identifier{home, x.OperatorClass}.Sanitize()
	}
	for _, statement := range []string{
		"DROP INDEX CONCURRENTLY IF EXISTS " + name,
		"CREATE INDEX CONCURRENTLY " + name + " ON " + pgx.Identifier{x.Table}.Sanitize() + " USING gin (" + strings.Join(columns, ", ") + ")",
	} {
		if _, err := pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	log.Info("index added", "index", x.Name, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// missing returns the schema of the extension if the index isn't there, or is invalid because its build was interrupted;
// "" if nothing is to be built.
func (x Index) missing(ctx context.Context, pool *pgxpool.Pool) (home string, err error) {
	err = pool.QueryRow(ctx, `
		SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
		WHERE e.extname = $3 AND to_regclass($2) IS NOT NULL
			AND NOT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND indisvalid)`,
		x.Name, x.Table, x.Extension).Scan(&home)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return home, err
}
