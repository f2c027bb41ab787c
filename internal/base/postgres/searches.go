package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// searchIndexes returns the indexes of the admins' searches for a part of a text, by name. They need the extension pg_trgm,
// which not every database has, so they aren't part of a migration.
func searchIndexes() map[string]string {
	return map[string]string{
		"tenants_search_idx":     "tenants USING gin (name gin_trgm_ops, id gin_trgm_ops)",
		"users_search_idx":       "users USING gin (email gin_trgm_ops, name gin_trgm_ops, id gin_trgm_ops)",
		"invitations_search_idx": "invitations USING gin (email gin_trgm_ops, name gin_trgm_ops, id gin_trgm_ops)",
	}
}

// indexSearches adds the indexes that are missing if the database has their tables and pg_trgm. It doesn't block writers. It
// builds an index again whose build was interrupted.
func indexSearches(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	indexes := searchIndexes()
	rows, err := pool.Query(ctx, `
		SELECT i.name FROM unnest($1::text[]) AS i (name)
		WHERE to_regclass('users') IS NOT NULL AND EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm')
			AND NOT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(i.name) AND indisvalid)
		ORDER BY i.name`, slices.Collect(maps.Keys(indexes)))
	if err != nil {
		return fmt.Errorf("look for the indexes of searches: %w", err)
	}
	missing, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for the indexes of searches: %w", err)
	}
	for _, name := range missing {
		began := time.Now()
		for _, statement := range []string{
			"DROP INDEX CONCURRENTLY IF EXISTS " + name,
			"CREATE INDEX CONCURRENTLY " + name + " ON " + indexes[name],
		} {
			if _, err := pool.Exec(ctx, statement); err != nil {
				return fmt.Errorf("add %s: %w", name, err)
			}
		}
		log.Info("index of searches added", "index", name, "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}
