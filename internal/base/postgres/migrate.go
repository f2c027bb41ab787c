package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// migrationLock is the key of the advisory lock with which one process migrates
// while others wait: the letters "shfl".
const migrationLock int64 = 0x7368666c

// unlockTimeout limits the release of the lock after the caller's context has ended.
const unlockTimeout = 5 * time.Second

// lockPoll is how often a process asks whether another one has finished migrating.
const lockPoll = 250 * time.Millisecond

// relockPause is the pause before a migration runs again that didn't get a lock within its lock_timeout. Writers that
// waited behind it go on meanwhile.
const relockPause = time.Second

// Migrate brings the database to the newest version: the numbered files of
// schema, the indexes that are missing, then the job queue's own tables. Any number of processes may call it
// at once; one migrates, the others wait and then find nothing to do. It
// refuses a database that a newer program has migrated.
//
// A migration that locks a table sets lock_timeout (SET LOCAL), because all later writers of the table wait behind it. If
// it reaches that time, it is rolled back and runs again after a second, until ctx ends.
func Migrate(ctx context.Context, pool *pgxpool.Pool, schema fs.FS, indexes []Index, log *slog.Logger) error {
	own, err := migrationPool(ctx, pool)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer own.Close()
	conn, err := own.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", unreachable(own.Config().ConnConfig, err))
	}
	defer conn.Release()
	if err := lockMigration(ctx, conn); err != nil {
		return fmt.Errorf("migrate: wait for another process: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		// The lock also ends with the connection, which is closed below.
		_, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", migrationLock)
	}()
	if err := migrateSchema(ctx, own, schema, log); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := buildMissingIndexes(ctx, own, indexes, log); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := migrateQueue(ctx, own, log); err != nil {
		return fmt.Errorf("migrate the job queue: %w", err)
	}
	return nil
}

// lockMigration waits until this process may migrate. It asks again and again: a statement that waits would hold a
// snapshot, for whose end CREATE INDEX CONCURRENTLY of the process that migrates waits, so neither would go on.
func lockMigration(ctx context.Context, conn *pgxpool.Conn) error {
	again := time.NewTicker(lockPoll)
	defer again.Stop()
	for {
		var locked bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", migrationLock).Scan(&locked); err != nil || locked {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// migrationPool opens a few connections besides the caller's, without time
// limits, because building an index on a large table may take any time, and so
// may waiting for another process that does.
func migrationPool(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Pool, error) {
	config := pool.Config()
	config.MaxConns, config.MinConns, config.MinIdleConns = 4, 0, 0
	config.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	config.ConnConfig.RuntimeParams["lock_timeout"] = "0" // CREATE INDEX CONCURRENTLY waits for old transactions
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	return pgxpool.NewWithConfig(ctx, config)
}

func migrateSchema(ctx context.Context, pool *pgxpool.Pool, schema fs.FS, log *slog.Logger) (err error) {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, schema)
	if err != nil {
		return err
	}
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > newest {
		return fmt.Errorf("the database is at version %d, but this program knows only %d: "+
			"start the newer program again, or restore a backup", current, newest)
	}
	for {
		err := up(ctx, provider, log)
		if sqlState(err) != lockNotAvailable {
			return err
		}
		log.Warn("a migration waits for a lock", "error", err)
		select {
		case <-time.After(relockPause):
		case <-ctx.Done():
			return err
		}
	}
}

// up runs the migrations that are not done yet, until one fails.
func up(ctx context.Context, provider *goose.Provider, log *slog.Logger) error {
	results, err := provider.Up(ctx)
	partial, failed := errors.AsType[*goose.PartialError](err)
	if failed {
		results, err = partial.Applied, fmt.Errorf("%s: %w", partial.Failed.Source.Path, partial.Err)
	}
	for _, result := range results {
		log.Info("database migrated", "file", result.Source.Path, "took", result.Duration.Round(time.Millisecond))
	}
	return err
}

func migrateQueue(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	migrator, err := newQueueMigrator(pool)
	if err != nil {
		return err
	}
	result, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	if err != nil {
		return err
	}
	if len(result.Versions) > 0 {
		log.Info("job queue migrated", "versions", len(result.Versions))
	}
	return tuneQueue(ctx, pool)
}

// tuneQueue changes the table of jobs for many short jobs. It drops the indexes of args and metadata, which no statement uses
// and which keep entries of deleted jobs until they are rebuilt. It makes autovacuum clear the table sooner and faster than
// others, because each job is written at least twice and then deleted. If the table already has settings, they stay.
func tuneQueue(ctx context.Context, pool *pgxpool.Pool) error {
	for _, statement := range []string{
		`DROP INDEX CONCURRENTLY IF EXISTS river_job_args_index`,
		`DROP INDEX CONCURRENTLY IF EXISTS river_job_metadata_index`,
		`DO $$ BEGIN
			IF EXISTS (SELECT FROM pg_class WHERE oid = 'river_job'::regclass AND reloptions IS NULL) THEN
				ALTER TABLE river_job SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_limit = 2000);
			END IF;
		END $$`,
	} {
		if _, err := pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// QueueVersion returns the newest version of the job queue's tables that this
// program knows.
func QueueVersion() (int, error) {
	migrator, err := newQueueMigrator(nil)
	if err != nil {
		return 0, err
	}
	newest := 0
	for _, migration := range migrator.AllVersions() {
		newest = max(newest, migration.Version)
	}
	return newest, nil
}

func newQueueMigrator(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	// River's log has each step; ours has the result.
	return rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
}
