// Package queue is what both ends of the job queue share: the areas, which add
// jobs, and the workers, which jobs/ wires.
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
)

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

// NewInserter makes a client that adds jobs but works none: what use cases hold.
func NewInserter(pool *pgxpool.Pool, log *slog.Logger) (*river.Client[pgx.Tx], error) {
	client, err := river.NewClient(riverpgxv5.New(pool), Config(log))
	if err != nil {
		return nil, fmt.Errorf("make job inserter: %w", err)
	}
	return client, nil
}

// Unfinished lets there be one job of the same kind and arguments (those marked as
// unique, if some are) at a time. One that is done, or was given up, doesn't keep
// another from being added.
func Unfinished() river.UniqueOpts {
	return river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}}
}

// Quiet leaves out what the queue says when all is well, such as its counts
// every few seconds; the metrics have them.
func Quiet(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// Handle leaves out what failed because the server stops: it goes on at the next
// start.
func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	stopping := false
	r.Attrs(func(a slog.Attr) bool {
		stopping = a.Key == "error" && strings.HasSuffix(a.Value.String(), context.Canceled.Error())
		return !stopping
	})
	if stopping {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
