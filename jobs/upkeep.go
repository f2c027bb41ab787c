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

	"showfloor/internal/areas"
)

const (
	// upkeepEvery is the interval between two rounds of the upkeep.
	upkeepEvery = 10 * time.Second
	// upkeepAttempts is how often a round that fails is tried. Later ones do the same chores.
	upkeepAttempts = 3
)

// UpkeepArgs is the periodic job that finds what no process finishes by itself: work whose process died, and what is due but whose own
// job is lost. It is one job, because an idle server would otherwise spend most of its time on adding, fetching and completing jobs
// that find nothing.
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
		{"end streams of dead nodes", 3, a.Streams.EndStranded},
		{"end sessions of dead nodes", 3, a.Sessions.EndStranded},
		{"close overdue breakout rooms", 3, a.Sessions.CloseOverdueBreakouts},
		{"end overdue ringing", 3, a.Calls.MissOverdue},
		{"settle overdue auctions", 3, a.Auctions.SettleOverdue},
		{"check due orders", 1, a.Orders.EnqueueDue},
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

// Work does the round's chores at the same time, so that a slow one doesn't delay the others. A chore that fails is done again in its
// next round.
func (w *upkeep) Work(ctx context.Context, job *river.Job[UpkeepArgs]) error {
	var failed []error
	var mu sync.Mutex
	var running sync.WaitGroup
	for i, c := range w.chores {
		if job.Args.Round > 0 && (job.Args.Round+i)%c.rounds != 0 {
			continue
		}
		running.Go(func() {
			if err := c.run(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}
