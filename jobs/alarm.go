package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivertype"
)

const (
	// pollEvery is how often each queue looks for jobs by itself. It bounds the delay of a job that no node announces, because the node
	// that added it and the one that led the queue were killed, or the database was away, or notifications don't arrive. Each look of
	// each queue is a query, so on an idle server a shorter interval costs more than all other queries.
	pollEvery = 15 * time.Second
	// alarmEvery is how often the alarm looks for due jobs, and how far ahead.
	alarmEvery = 5 * time.Second
	// alarmPause is the shortest time between two looks, and the longest one while jobs of this node are added or
	// postponed.
	alarmPause = 100 * time.Millisecond
	// storedWithin is how long River's client takes to store the outcome of a job: it stores them in batches.
	storedWithin = 400 * time.Millisecond
)

// alarm notifies the queues when a job is due. River notifies them only of new jobs, and not of each; otherwise each
// queue would have to poll several times a second. The node that leads the queue looks for all nodes. Another node
// looks when it adds or postpones jobs, and until those are due that it saw then.
type alarm struct {
	pool   *pgxpool.Pool
	node   string
	queues []string
	now    func() time.Time // the database's time
	log    *slog.Logger
	// inserted receives a value when jobs of this node were added, and postponed when one ended without success.
	inserted  <-chan struct{}
	postponed chan struct{}
}

// run looks for due jobs until ctx ends.
func (a *alarm) run(ctx context.Context) {
	var active time.Time // the end of the time in which changes of this node may still be stored
	var seen time.Time   // a second after the next job that this node knows of is due
	for ctx.Err() == nil {
		now := a.now()
		next, err := a.look(ctx, now.Before(active) || now.Before(seen))
		if err != nil && ctx.Err() == nil {
			// The queues poll meanwhile.
			a.log.Warn("jobs: due jobs could not be announced", "error", err)
		}
		if next < alarmEvery {
			seen = now.Add(next + time.Second)
		}
		if a.now().Before(active) {
			next = 0
		}
		for at := a.now().Add(max(next, alarmPause)); ; {
			until := a.await(ctx, at.Sub(a.now()))
			if until == 0 {
				break
			}
			active = later(active, a.now().Add(until))
			at = earlier(at, a.now().Add(alarmPause))
		}
	}
}

// await waits for d, or until jobs of this node were added or postponed. Then it returns how long that may take to be
// stored, and otherwise 0.
func (a *alarm) await(ctx context.Context, d time.Duration) (stored time.Duration) {
	select {
	case <-time.After(d):
		return 0
	case <-ctx.Done():
		return 0
	case <-a.inserted:
		return 2 * alarmPause
	case <-a.postponed:
		return storedWithin
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// look notifies the queues that have a due job, and returns the time until the next job is due, alarmEvery at most. A
// job that has been due for longer than alarmEvery waits for a worker. A node that doesn't lead the queue looks only if
// it is active.
func (a *alarm) look(ctx context.Context, active bool) (time.Duration, error) {
	now := a.now()
	rows, err := a.pool.Query(ctx, `
		SELECT queue, coalesce(bool_or(state = 'available' AND scheduled_at <= $2), false), min(scheduled_at) FILTER (WHERE scheduled_at > $2)
		FROM river_job
		WHERE state IN ('available', 'scheduled', 'retryable') AND queue = ANY($1) AND priority IN (1, 2, 3, 4)
			AND scheduled_at > $2 - make_interval(secs => $3) AND scheduled_at <= $2 + make_interval(secs => $3)
			AND ($4 OR EXISTS (SELECT 1 FROM river_leader WHERE leader_id = $5))
		GROUP BY queue`, a.queues, now, alarmEvery.Seconds(), active, a.node)
	if err != nil {
		return alarmEvery, fmt.Errorf("read due jobs: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
		Queue string
		Due   bool
		Next  *time.Time
	}])
	if err != nil {
		return alarmEvery, fmt.Errorf("read due jobs: %w", err)
	}
	next := alarmEvery
	var queues []string
	for _, q := range list {
		if q.Due {
			queues = append(queues, q.Queue)
		}
		if q.Next != nil {
			next = min(next, q.Next.Sub(now))
		}
	}
	return next, a.notify(ctx, queues)
}

// notify makes all nodes look for jobs in the queues, by the notification that River sends for new jobs.
func (a *alarm) notify(ctx context.Context, queues []string) error {
	if len(queues) == 0 {
		return nil
	}
	payloads := make([]string, len(queues))
	for i, queue := range queues {
		text, err := json.Marshal(map[string]string{"queue": queue})
		if err != nil {
			return fmt.Errorf("write a notification: %w", err)
		}
		payloads[i] = string(text)
	}
	_, err := a.pool.Exec(ctx, `SELECT pg_notify(current_schema() || '.river_insert', payload) FROM unnest($1::text[]) AS payload`, payloads)
	if err != nil {
		return fmt.Errorf("notify the queues: %w", err)
	}
	return nil
}

// watch is a middleware of the workers. A job that fails or is snoozed may be due again soon.
func (a *alarm) watch(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
	err := work(ctx)
	if err != nil {
		select {
		case a.postponed <- struct{}{}:
		default:
		}
	}
	return err
}
