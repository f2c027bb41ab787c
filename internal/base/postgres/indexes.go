package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Index is an index that Migrate builds outside the migrations.
type Index struct {
	Name, Table string
	// Definition follows the table's name in CREATE INDEX, for example "USING gin (name gin_trgm_ops)".
	Definition string
	// Extension is the extension that the index needs. Without it, the index isn't built.
	Extension string
}

// buildMissingIndexes adds the indexes that are missing if the database has their table and extension. It doesn't block
// writers. It builds an index again whose build was interrupted.
func buildMissingIndexes(ctx context.Context, pool *pgxpool.Pool, indexes []Index, log *slog.Logger) error {
	for _, index := range indexes {
		missing, err := isMissing(ctx, pool, index)
		if err != nil {
			return fmt.Errorf("look for %s: %w", index.Name, err)
		}
		if !missing {
			continue
		}
		began := time.Now()
		name := pgx.Identifier{index.Name}.Sanitize()
		for _, statement := range []string{
			"DROP INDEX CONCURRENTLY IF EXISTS " + name,
			"CREATE INDEX CONCURRENTLY " + name + " ON " + pgx.Identifier{index.Table}.Sanitize() + " " + index.Definition,
		} {
			if _, err := pool.Exec(ctx, statement); err != nil {
				return fmt.Errorf("add %s: %w", index.Name, err)
			}
		}
		log.Info("index added", "index", index.Name, "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// isMissing reports whether an index can be built and isn't there, or is invalid because its build was interrupted.
func isMissing(ctx context.Context, pool *pgxpool.Pool, index Index) (missing bool, err error) {
	err = pool.QueryRow(ctx, `
		SELECT to_regclass($2) IS NOT NULL AND EXISTS (SELECT FROM pg_extension WHERE extname = $3)
			AND NOT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND indisvalid)`,
		index.Name, index.Table, index.Extension).Scan(&missing)
	return missing, err
}
