package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
)

// undefinedTable is the SQLSTATE for a missing table.
const undefinedTable = "42P01"

// CheckVersion returns an error unless the database is at the newest version of
// the schema that this program knows. It changes nothing.
func CheckVersion(ctx context.Context, pool *pgxpool.Pool, schema fs.FS) error {
	var current int64
	err := pool.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&current)
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok && failure.Code == undefinedTable {
		return errors.New("the database is empty: start the server once, or run showfloor migrate")
	}
	if err != nil {
		return fmt.Errorf("read the database's version: %w", err)
	}
	newest, err := newestVersion(schema)
	if err != nil {
		return err
	}
	if current != newest {
		return fmt.Errorf("the database is at version %d, but this program is made for %d: "+
			"use the program that the server runs, or update the database with showfloor migrate", current, newest)
	}
	return nil
}

// newestVersion returns the number of the last file.
func newestVersion(schema fs.FS) (int64, error) {
	files, err := fs.Glob(schema, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("read the schema: %w", err)
	}
	if len(files) == 0 {
		return 0, errors.New("the schema has no files")
	}
	return goose.NumericComponent(files[len(files)-1])
}
