// Package operations shows operators the servers: background jobs, nodes and the size of the database. It owns no table. The queue's
// tables are River's, and the statistics are PostgreSQL's.
package operations

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
)

const (
	// nodesKeep is how long a node is listed after its last heartbeat; nodeGone is when it counts as failing.
	nodesKeep = 24 * time.Hour
	nodeGone  = time.Minute
)

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the reads.
type Service struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c.Pool, c.Now}
}

// Node is a server. Alive: its last heartbeat is at most a minute ago.
type Node struct {
	db.ListNodesRow

	Alive bool
}

// ListNodes returns the servers of the last 24 hours, oldest first.
func (s *Service) ListNodes(ctx context.Context) ([]Node, error) {
	now := s.now().UTC()
	last := now.Add(-time.Minute)
	rows, err := db.New(s.pool).ListNodes(ctx, db.ListNodesParams{
		Since: now.Add(-nodesKeep), Minute: int32(now.Minute()), Hour: now.Truncate(time.Hour),
		LastMinute: int32(last.Minute()), LastHour: last.Truncate(time.Hour),
	})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	nodes := make([]Node, len(rows))
	for i, r := range rows {
		nodes[i] = Node{r, now.Sub(r.SeenAt) <= nodeGone}
	}
	return nodes, nil
}

// Run is a background job with its last attempt.
type Run struct {
	ID                   int64
	Kind, State, Queue   string
	Periodic             bool
	Attempt, MaxAttempts int32
	// Node made the last attempt; nil before the first.
	Node                  *string
	ScheduledAt           time.Time
	StartedAt, FinishedAt *time.Time
	Error                 *string
	CreatedAt             time.Time
}

// maxError is the length of an error in characters that admins see.
const maxError = 1000

// ListRuns returns the newest jobs of all servers, of one kind if it is given. Arguments are left out, since they may hold data of
// tenants. The ids follow the time of creation. A kind is found among the newest 100,000 jobs, so that a rare one reads no more of them.
func (s *Service) ListRuns(ctx context.Context, kind *string, limit int) ([]Run, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT j.id, j.kind, j.state::text, j.queue, coalesce(j.metadata->>'periodic' = 'true', false),
		j.attempt::integer, j.max_attempts::integer,
			j.attempted_by[array_upper(j.attempted_by, 1)], j.scheduled_at, j.attempted_at, j.finalized_at,
			left(j.errors[array_upper(j.errors, 1)]->>'error', $3), j.created_at
		FROM river_job j
		WHERE ($1::text IS NULL OR j.kind = $1 AND j.id > (SELECT coalesce(max(n.id), 0) - 100000 FROM river_job n))
		ORDER BY j.id DESC LIMIT $2`, kind, limit, maxError)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	runs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Run])
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return runs, nil
}

// Table is the size of a table in bytes. Rows and DeadRows are PostgreSQL's estimates.
type Table struct {
	Name                        string
	Rows, DeadRows              int64
	TableBytes, IndexBytes      int64
	LastVacuumAt, LastAnalyzeAt *time.Time
}

// Database is the size of the database.
type Database struct {
	At                          time.Time
	Version                     string
	Bytes                       int64
	Connections, MaxConnections int32
	// Migration is the number of the last migration.
	Migration int64
	// Tables has the tables of the public schema, the largest first.
	Tables []Table
}

// GetDatabase returns the size of the database from PostgreSQL's statistics. It reads no table of ours.
func (s *Service) GetDatabase(ctx context.Context) (d Database, err error) {
	d.At = s.now()
	err = s.pool.QueryRow(ctx, `
		SELECT current_setting('server_version'), pg_database_size(current_database()),
			(SELECT count(*)::integer FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::integer,
			(SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied)`).
		Scan(&d.Version, &d.Bytes, &d.Connections, &d.MaxConnections, &d.Migration)
	if err != nil {
		return d, fmt.Errorf("read size of database: %w", err)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT c.relname::text, greatest(c.reltuples, 0)::bigint, coalesce(s.n_dead_tup, 0), pg_table_size(c.oid), pg_indexes_size(c.oid),
			greatest(s.last_vacuum, s.last_autovacuum), greatest(s.last_analyze, s.last_autoanalyze)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
		WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') ORDER BY pg_total_relation_size(c.oid) DESC, c.relname LIMIT 1000`)
	if err != nil {
		return d, fmt.Errorf("read sizes of tables: %w", err)
	}
	if d.Tables, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Table]); err != nil {
		return d, fmt.Errorf("read sizes of tables: %w", err)
	}
	return d, nil
}

// lateJobs is how long after its time a due job counts as late.
const lateJobs = 5 * time.Minute

// Backlog is the work that waits for workers.
type Backlog struct {
	Due int64
	// OldestAt is when the oldest due job was due; nil if there is none.
	OldestAt *time.Time
	// Late: the oldest one has waited for more than 5 minutes, or there are more jobs than are counted.
	Late bool
}

// maxBacklog is how many due jobs are counted at most.
const maxBacklog = 100_000

// GetBacklog returns the jobs that are due and that no worker has taken. 100,000 at most are counted.
func (s *Service) GetBacklog(ctx context.Context) (b Backlog, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT count(*), min(scheduled_at) FROM (SELECT scheduled_at FROM river_job WHERE state = 'available' LIMIT $1) n`, maxBacklog).
		Scan(&b.Due, &b.OldestAt)
	if err != nil {
		return b, fmt.Errorf("count due jobs: %w", err)
	}
	b.Late = b.Due == maxBacklog || b.OldestAt != nil && s.now().Sub(*b.OldestAt) > lateJobs
	return b, nil
}
