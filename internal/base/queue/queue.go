// Package queue holds the settings that both ends of the job queue share: the areas, which
// add jobs, and the workers, which jobs/ registers.
package queue

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"showfloor/internal/base/postgres"
)

// SchedulerInterval is the interval of River's scheduler. A job due within it could start
// late, so it is inserted without a time and reschedules itself.
const SchedulerInterval = 5 * time.Second

// Config returns the settings that all clients of the queue share.
func Config(log *slog.Logger) *river.Config {
	return &river.Config{Logger: Quiet(log), Middleware: []rivertype.Middleware{river.JobInsertMiddlewareFunc(dueNow)}}
}

// dueNow makes jobs without a time due at the database's now(). Otherwise the driver
// writes this process's time, and the jobs wait for as long as this process's clock is
// ahead of the database's. The driver's statement replaces the zero time by now().
func dueNow(
	ctx context.Context, jobs []*rivertype.JobInsertParams, insert func(context.Context) ([]*rivertype.JobInsertResult, error),
) ([]*rivertype.JobInsertResult, error) {
	for _, job := range jobs {
		if job.ScheduledAt == nil {
			job.ScheduledAt = &time.Time{}
		}
		if job.CreatedAt == nil {
			job.CreatedAt = &time.Time{}
		}
	}
	return insert(ctx)
}

// Inserter is the part of a River client that adds jobs in a transaction. Packages that use it
// don't see River's client type: each of them would compile the client's generic types again.
type Inserter interface {
	InsertTx(ctx context.Context, tx pgx.Tx, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error)
	InsertManyTx(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) ([]*rivertype.JobInsertResult, error)
}

// Client adds jobs but runs none, for use cases. Its transactions are those of postgres.InTx.
type Client struct {
	river    *river.Client[pgx.Tx]
	inserted chan struct{}
}

// NewClient makes a client.
func NewClient(pool *pgxpool.Pool, log *slog.Logger) (*Client, error) {
	client, err := river.NewClient(riverpgxv5.New(pool), Config(log))
	if err != nil {
		return nil, fmt.Errorf("make job inserter: %w", err)
	}
	return &Client{client, make(chan struct{}, 1)}, nil
}

// Inserted receives a value after the commit of transactions that added jobs, one for several if the channel is full.
// River itself notifies the workers at most once in 100 ms for each queue, so it announces only some of the jobs.
func (c *Client) Inserted() <-chan struct{} { return c.inserted }

// InsertTx implements Inserter.
func (c *Client) InsertTx(ctx context.Context, tx pgx.Tx, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error) {
	postgres.AfterCommit(tx, c.announce)
	return c.river.InsertTx(ctx, tx, args, opts)
}

// InsertManyTx implements Inserter.
func (c *Client) InsertManyTx(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) ([]*rivertype.JobInsertResult, error) {
	postgres.AfterCommit(tx, c.announce)
	return c.river.InsertManyTx(ctx, tx, params)
}

func (c *Client) announce() {
	select {
	case c.inserted <- struct{}{}:
	default:
	}
}

// Unfinished allows one unfinished job of the same kind and arguments (if some arguments
// are marked as unique, only these). A job that has completed or failed permanently
// doesn't prevent another one.
func Unfinished() river.UniqueOpts {
	return river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}}
}

// Quiet drops the queue's routine lines, such as its counts every few seconds, because
// the metrics have them.
func Quiet(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// Handle drops lines about canceled contexts. A job that failed because the server stops
// runs again after the next start. If a canceled context stops an insert, the caller's
// transaction fails, and the caller logs that.
func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	canceled := false
	r.Attrs(func(a slog.Attr) bool {
		canceled = (a.Key == "error" || a.Key == "err") && strings.HasSuffix(a.Value.String(), context.Canceled.Error())
		return !canceled
	})
	if canceled {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
