package mediajob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// errOver is the cause of the end of an attempt whose job was cancelled or has another worker.
var errOver = errors.New("the attempt is over")

// RunNext starts the next QUEUED job of a kind and works on it; it returns at once if there is none. It isn't one transaction. When ctx
// ends, the job is requeued. The kind must have a worker.
func (s *Service) RunNext(ctx context.Context, kind string) error {
	job, err := db.New(s.config.Pool).ClaimMediaJob(ctx, db.ClaimMediaJobParams{Kind: kind, Node: s.config.Node, Now: s.config.Now()})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim a %s: %w", kind, err)
	}
	a := &Attempt{service: s, Job: job}
	err = a.run(ctx, s.workers[kind].worker)
	if errors.Is(err, errOver) {
		return s.DeleteFiles(ctx, job.ID) // if it was cancelled
	}
	// The end of an attempt is stored also while the process stops.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), heartbeatTimeout)
	defer cancel()
	if err == nil {
		err = a.complete(ending, s.workers[kind].worker)
	}
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return s.postpone(ending, job.ID, job.Attempt, 0)
	}
	s.config.Log.Warn("an attempt at a media job failed", "kind", kind, "job", job.ID, "attempt", job.Attempt, "error", err)
	var media MediaError
	switch {
	case errors.As(err, &media):
		return s.fail(ending, job.ID, job.Attempt, media.Reason)
	case ctx.Err() != nil:
		return s.fail(ending, job.ID, job.Attempt, tooLong)
	case !errors.Is(err, ErrStorage):
		return s.requeue(ending, job.ID, job.Attempt, programFailed)
	case s.config.Now().Sub(*job.StartedAt) > storageTime:
		return s.fail(ending, job.ID, job.Attempt, storageFailed)
	default:
		return s.postpone(ending, job.ID, job.Attempt, storagePause)
	}
}

// Attempt is the work of this process on a job.
type Attempt struct {
	service *Service
	// Job is the row at the beginning of the attempt; Store changes its outputs.
	Job     db.MediaJob
	percent atomic.Int32
}

// run does the work. It returns errOver when the job was cancelled or has another worker.
func (a *Attempt) run(ctx context.Context, w Worker) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var beats sync.WaitGroup
	defer beats.Wait()
	defer cancel(nil)
	beats.Go(func() { a.beat(ctx, cancel) })
	err = w.Work(ctx, a)
	if errors.Is(context.Cause(ctx), errOver) {
		return errOver
	}
	return err
}

// Progress notes that `done` of `all` is made, for the next heartbeat.
func (a *Attempt) Progress(done, all int64) {
	const storing = 99 // the last percent is the storing
	if all > 0 {
		a.percent.Store(int32(min(storing, int64(float64(done)/float64(all)*100))))
	}
}

// Store notes the files that are stored so far, and their bytes together. It fails if the attempt is over.
func (a *Attempt) Store(ctx context.Context, outputs any, size int64) error {
	list, err := json.Marshal(outputs)
	if err != nil {
		return fmt.Errorf("encode outputs: %w", err)
	}
	changed, err := db.New(a.service.config.Pool).SetMediaJobOutputs(ctx, db.SetMediaJobOutputsParams{
		ID: a.Job.ID, Attempt: a.Job.Attempt, Outputs: list, SizeBytes: size, Now: a.service.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("%w: set outputs: %w", ErrStorage, err)
	}
	if changed == 0 {
		return errOver
	}
	a.Job.Outputs, a.Job.SizeBytes = list, size
	return nil
}

// beat sends heartbeats until ctx ends. It ends ctx when the attempt is over, and before another process may believe that this one is
// dead.
func (a *Attempt) beat(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(a.service.config.HeartbeatEvery)
	defer ticker.Stop()
	last := time.Now() // this process's time: only differences count
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		query, done := context.WithTimeout(ctx, heartbeatTimeout/6)
		changed, err := db.New(a.service.config.Pool).BeatMediaJob(query, db.BeatMediaJobParams{
			ID: a.Job.ID, Attempt: a.Job.Attempt, Progress: int16(a.percent.Load()), Now: a.service.config.Now(),
		})
		done()
		if err == nil {
			last = time.Now()
		}
		if err == nil && changed == 0 || time.Since(last) > heartbeatTimeout*2/3 {
			cancel(errOver)
			return
		}
	}
}

// complete makes the job COMPLETED, unless the attempt is over.
func (a *Attempt) complete(ctx context.Context, w Worker) error {
	s := a.service
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		deleted, err := s.config.Recordings.IsDeletedTx(ctx, tx, a.Job.RecordingID)
		if err != nil {
			return err
		}
		return s.changeAttempt(ctx, tx, a.Job.ID, a.Job.Attempt, func(row db.MediaJob) error {
			if deleted {
				_, err := s.finishTx(ctx, tx, row, Failed, new(RecordingDeleted))
				return err
			}
			if err := w.CompletedTx(ctx, tx, row); err != nil {
				return err
			}
			_, err := s.finishTx(ctx, tx, row, Completed, nil)
			return err
		})
	})
	if err != nil {
		return errors.Join(ErrStorage, err)
	}
	return nil
}

// changeAttempt runs fn with the locked job if the attempt is not over.
func (s *Service) changeAttempt(ctx context.Context, tx pgx.Tx, jobID string, attempt int32, fn func(row db.MediaJob) error) error {
	row, err := db.New(tx).LockMediaJob(ctx, jobID)
	if err != nil {
		return fmt.Errorf("lock job: %w", err)
	}
	if row.Status != Running || row.Attempt != attempt {
		return nil
	}
	return fn(row)
}

// fail makes a job FAILED, unless the attempt is over.
func (s *Service) fail(ctx context.Context, jobID string, attempt int32, reason string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return s.changeAttempt(ctx, tx, jobID, attempt, func(row db.MediaJob) error {
			_, err := s.finishTx(ctx, tx, row, Failed, &reason)
			return err
		})
	})
}

// requeue makes a job QUEUED after an attempt that counts, unless the attempt is over: after a pause, or FAILED with the reason
// after the last one.
func (s *Service) requeue(ctx context.Context, jobID string, attempt int32, reason string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return s.changeAttempt(ctx, tx, jobID, attempt, func(row db.MediaJob) error {
			if attempt < maxAttempts {
				return s.requeueTx(ctx, tx, row, pauseAfter(int(attempt)), 0)
			}
			s.config.Log.Warn("a media job failed in all attempts", "job", jobID, "reason", reason)
			_, err := s.finishTx(ctx, tx, row, Failed, new(fmt.Sprintf("%s It was tried %d times.", reason, attempt)))
			return err
		})
	})
}

// postpone makes a job QUEUED after an attempt that doesn't count, unless the attempt is over.
func (s *Service) postpone(ctx context.Context, jobID string, attempt int32, pause time.Duration) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return s.changeAttempt(ctx, tx, jobID, attempt, func(row db.MediaJob) error { return s.requeueTx(ctx, tx, row, pause, 1) })
	})
}

// requeueTx makes a locked job QUEUED. uncounted is 1 for an attempt that doesn't count, and 0 otherwise.
func (s *Service) requeueTx(ctx context.Context, tx pgx.Tx, row db.MediaJob, pause time.Duration, uncounted int32) error {
	now := s.config.Now()
	err := db.New(tx).RequeueMediaJob(ctx, db.RequeueMediaJobParams{ID: row.ID, DueAt: now.Add(pause), Uncounted: uncounted, Now: now})
	if err != nil {
		return fmt.Errorf("requeue job: %w", err)
	}
	return s.addRun(ctx, tx, row.Kind, pause)
}
