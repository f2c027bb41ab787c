package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"

	"showfloor/internal/areas"
)

const (
	// upkeepEvery is the interval between two rounds of the upkeep.
	upkeepEvery = 10 * time.Second
	// upkeepAttempts is how often a round is tried. The second attempt is for a process that was killed, or that doesn't know the kind:
	// a chore that failed is done again in a later round.
	upkeepAttempts = 2
	// upkeepAtOnce is how many chores run at a time. All of them at once would use as many connections to the database, whose caches are
	// cold on an idle server. With only one, a slow chore would delay the others.
	upkeepAtOnce = 3
)

// UpkeepArgs is the periodic job for unfinished work: of dead processes, and due work whose own job is lost. It is one job, because an
// idle server would otherwise spend most of its time on adding, fetching and completing jobs that find nothing.
type UpkeepArgs struct {
	// Round counts from 0 at the start of the process that adds the jobs. A chore is done in some of the rounds.
	Round int `json:"round"`
}

// Kind names the job.
func (UpkeepArgs) Kind() string { return "upkeep" }

// upkeepJob returns the periodic job. Only the process that leads the queue adds it.
func upkeepJob() *river.PeriodicJob {
	round := -1
	return river.NewPeriodicJob(river.PeriodicInterval(upkeepEvery), func() (river.JobArgs, *river.InsertOpts) {
		round++
		return UpkeepArgs{Round: round}, &river.InsertOpts{MaxAttempts: upkeepAttempts}
	}, &river.PeriodicJobOpts{ID: UpkeepArgs{}.Kind(), RunOnStart: true})
}

// chore is a part of the upkeep.
type chore struct {
	name   string // for errors
	rounds int    // it is done in each of so many rounds
	do     func(ctx context.Context) error
}

// run does it, and returns a panic as an error.
func (c *chore) run(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return c.do(ctx)
}

// chores returns all of them. Those that are done in the same rounds begin with different ones, so that their queries are spread.
func chores(a *areas.Areas, pool *pgxpool.Pool) []chore {
	list := []chore{
		{"make jobs of dead processes available", 3, func(ctx context.Context) error {
			_, err := RescueLost(ctx, pool)
			return err
		}},
		{"delete jobs of former kinds", 3, func(ctx context.Context) error { return deleteFormer(ctx, pool) }},
		{"end streams of dead nodes", 3, a.Streams.EndStranded},
		{"end sessions of dead nodes", 3, a.Sessions.EndStranded},
		{"check broadcasts without an encoder", 1, a.Sessions.CheckBroadcasts},
		{"close overdue breakout rooms", 3, a.Sessions.CloseOverdueBreakouts},
		{"write overdue summaries", 6, a.Sessions.EnqueueSummaries},
		{"end overdue ringing", 3, a.Calls.MissOverdue},
		{"settle overdue auctions", 3, a.Auctions.SettleOverdue},
		{"check due orders", 1, a.Orders.EnqueueDue},
		{"look at subscriptions", 6, a.Subscriptions.Look},
		{"charge due overage", 6, a.Overage.EnqueueDue},
		{"find new overage", 30, a.Overage.EnqueueNew},
		{"continue transcodes and packages", 1, a.MediaJobs.Sweep},
	}
	if a.Recordings != nil {
		list = append(list, chore{"finish recordings", 1, a.Recordings.Sweep})
	}
	return list
}

type upkeep struct {
	river.WorkerDefaults[UpkeepArgs]
	chores []chore
}

// Work does the round's chores, upkeepAtOnce at a time. Each round begins with another chore, so that slow chores don't always delay the
// same others. A chore that fails is done again in its next round.
func (w *upkeep) Work(ctx context.Context, job *river.Job[UpkeepArgs]) error {
	var failed []error
	var mu sync.Mutex
	var running errgroup.Group
	running.SetLimit(upkeepAtOnce)
	for n := range w.chores {
		i := (n + job.Args.Round) % len(w.chores)
		c := w.chores[i]
		if job.Args.Round > 0 && (job.Args.Round+i)%c.rounds != 0 {
			continue
		}
		running.Go(func() error {
			if err := c.run(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
			}
			return nil
		})
	}
	_ = running.Wait() // the failures are in failed
	return errors.Join(failed...)
}

// deleteFormer deletes jobs that a server of a former version has added, and that no worker of this version knows. The chores do
// their work.
func deleteFormer(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `DELETE FROM river_job WHERE state IN ('available', 'scheduled', 'retryable') AND kind IN ('job_rescue',
		'stream_end_stranded', 'session_end_stranded', 'session_close_overdue_breakouts', 'call_miss_overdue', 'auction_settle_overdue',
		'order_reconcile', 'recording_sweep')`)
	if err != nil {
		return fmt.Errorf("delete jobs: %w", err)
	}
	return nil
}
