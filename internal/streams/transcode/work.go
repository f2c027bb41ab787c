package transcode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/usage"
)

// Queue is the queue of runs.
const Queue = "transcodes"

// RunArgs is a run: the job that starts one QUEUED transcode and works on it.
type RunArgs struct{}

// Kind is the job's name.
func (RunArgs) Kind() string { return "transcode_run" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (RunArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: Queue} }

// Workers returns the number of runs that this process takes at a time.
func (s *Service) Workers() int {
	if s.config.Maker == nil {
		return 0
	}
	return s.config.Workers
}

// addRun adds a run that begins after a pause. Each transcode that becomes QUEUED needs one.
func (s *Service) addRun(ctx context.Context, tx pgx.Tx, pause time.Duration) error {
	opts := &river.InsertOpts{Queue: Queue}
	if pause > 0 {
		opts.ScheduledAt = s.config.Now().Add(pause)
	}
	return s.insertJob(ctx, tx, RunArgs{}, opts)
}

// errOver is the cause of the end of an attempt whose transcode was cancelled or has another worker.
var errOver = errors.New("the attempt is over")

// RunNext starts the next QUEUED transcode and works on it; it returns at once if there is none. It isn't one transaction. When ctx
// ends, the transcode is requeued. Config.Maker must be set.
func (s *Service) RunNext(ctx context.Context) error {
	t, err := db.New(s.config.Pool).ClaimTranscode(ctx, db.ClaimTranscodeParams{Node: s.config.Node, Now: s.config.Now()})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim a transcode: %w", err)
	}
	a := &attempt{service: s, transcode: t}
	err = a.run(ctx)
	if errors.Is(err, errOver) {
		return s.DeleteFiles(ctx, t.ID) // if it was cancelled
	}
	// The end of an attempt is stored also while the process stops.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), heartbeatTimeout)
	defer cancel()
	if err == nil {
		err = a.complete(ending)
	}
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return s.postpone(ending, t.ID, t.Attempt, 0)
	}
	s.config.Log.Warn("an attempt at a transcode failed", "transcode", t.ID, "attempt", t.Attempt, "error", err)
	var media MediaError
	switch {
	case errors.As(err, &media):
		return s.fail(ending, t.ID, t.Attempt, media.Reason)
	case ctx.Err() != nil:
		return s.fail(ending, t.ID, t.Attempt, "The files take too long to make: more than a day.")
	case !errors.Is(err, ErrStorage):
		return s.requeue(ending, t.ID, t.Attempt, "The encoder failed.")
	case s.config.Now().Sub(*t.StartedAt) > storageTime:
		return s.fail(ending, t.ID, t.Attempt, "The storage failed for 6 hours.")
	default:
		return s.postpone(ending, t.ID, t.Attempt, storagePause)
	}
}

// attempt is the work of this process on a transcode.
type attempt struct {
	service   *Service
	transcode db.Transcode
	outputs   []Output
	length    time.Duration // of the recording
	percent   atomic.Int32
}

// run makes the missing files. It returns errOver when the transcode was cancelled or has another worker.
func (a *attempt) run(ctx context.Context) (err error) {
	s := a.service
	ctx, cancel := context.WithCancelCause(ctx)
	var beats sync.WaitGroup
	defer beats.Wait()
	defer cancel(nil)
	beats.Go(func() { a.beat(ctx, cancel) })
	defer func() {
		if errors.Is(context.Cause(ctx), errOver) {
			err = errOver
		}
	}()

	if a.outputs, err = outputsOf(a.transcode); err != nil {
		return err
	}
	var renditions []Rendition
	if err := json.Unmarshal(a.transcode.Renditions, &renditions); err != nil {
		return fmt.Errorf("decode renditions: %w", err)
	}
	missing := slices.DeleteFunc(renditions, func(r Rendition) bool {
		return slices.ContainsFunc(a.outputs, func(o Output) bool { return o.Name == r.Name })
	})
	if len(missing) == 0 {
		return nil
	}
	media, err := s.config.Recordings.StoredMedia(ctx, a.transcode.RecordingID)
	if problem.Is(err, "not_found") {
		return MediaError{recordingDeleted}
	}
	if err != nil {
		return errors.Join(ErrStorage, err)
	}
	for _, g := range media.Segments {
		a.length += g.Duration
	}
	return s.config.Maker.MakeRenditions(ctx, Work{
		ID: a.transcode.ID, Media: media, Container: a.transcode.Container, Renditions: missing,
	}, a.progress, a.stored)
}

// progress notes the position in the recording for the next heartbeat.
func (a *attempt) progress(done time.Duration) {
	if a.length > 0 {
		const storing = 99 // the last percent is the storing
		a.percent.Store(int32(min(storing, done*100/a.length)))
	}
}

// stored notes a stored file in the transcode's row.
func (a *attempt) stored(ctx context.Context, o Output) error {
	a.outputs = append(a.outputs, o)
	list, err := json.Marshal(a.outputs)
	if err != nil {
		return fmt.Errorf("encode outputs: %w", err)
	}
	changed, err := db.New(a.service.config.Pool).SetTranscodeOutputs(ctx, db.SetTranscodeOutputsParams{
		ID: a.transcode.ID, Attempt: a.transcode.Attempt, Outputs: list, Now: a.service.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("%w: set outputs: %w", ErrStorage, err)
	}
	if changed == 0 {
		return errOver
	}
	return nil
}

// beat sends heartbeats until ctx ends. It ends ctx when the attempt is over, and before another process may believe that this one is
// dead.
func (a *attempt) beat(ctx context.Context, cancel context.CancelCauseFunc) {
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
		changed, err := db.New(a.service.config.Pool).BeatTranscode(query, db.BeatTranscodeParams{
			ID: a.transcode.ID, Attempt: a.transcode.Attempt, Progress: int16(a.percent.Load()), Now: a.service.config.Now(),
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

// recordingDeleted is the reason of transcodes whose recording was deleted.
const recordingDeleted = "The recording was deleted."

// complete makes the transcode COMPLETED and stores its usage, unless the attempt is over.
func (a *attempt) complete(ctx context.Context) error {
	s, t := a.service, a.transcode
	project, err := s.config.Recordings.Project(ctx, t.RecordingID)
	if err != nil {
		return errors.Join(ErrStorage, err)
	}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		deleted, err := s.config.Recordings.IsDeletedTx(ctx, tx, t.RecordingID)
		if err != nil {
			return err
		}
		return s.changeAttempt(ctx, tx, t.ID, t.Attempt, func(row db.Transcode) error {
			if deleted {
				_, err := s.finishTx(ctx, tx, row, Failed, new(recordingDeleted))
				return err
			}
			owner := usage.Owner{TenantID: t.TenantID, ProjectID: project}
			if err := s.config.Usage.RecordTx(ctx, tx, usageOf(t.ID, owner, a.outputs, s.config.Now())); err != nil {
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

// usageOf returns the minutes of files that are finished now.
func usageOf(transcodeID string, owner usage.Owner, outputs []Output, now time.Time) (list []usage.Interval) {
	for _, o := range outputs {
		if o.Duration > 0 {
			list = append(list, usage.Interval{
				Owner: owner, Source: entity + " " + o.Name, ResourceID: transcodeID, Meter: usage.TranscodeMinutes, Quality: o.Quality(),
				From: now.Add(-o.Duration), To: now, Amount: int64(math.Ceil(o.Duration.Seconds())),
			})
		}
	}
	return list
}

// changeAttempt runs fn with the locked transcode if the attempt is not over.
func (s *Service) changeAttempt(ctx context.Context, tx pgx.Tx, transcodeID string, attempt int32, fn func(row db.Transcode) error) error {
	row, err := db.New(tx).LockTranscode(ctx, transcodeID)
	if err != nil {
		return fmt.Errorf("lock transcode: %w", err)
	}
	if row.Status != Running || row.Attempt != attempt {
		return nil
	}
	return fn(row)
}

// fail makes a transcode FAILED, unless the attempt is over.
func (s *Service) fail(ctx context.Context, transcodeID string, attempt int32, reason string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return s.changeAttempt(ctx, tx, transcodeID, attempt, func(row db.Transcode) error {
			_, err := s.finishTx(ctx, tx, row, Failed, &reason)
			return err
		})
	})
}

// requeue makes a transcode QUEUED after an attempt that counts, unless the attempt is over: after a pause, or FAILED with the reason
// after the last one.
func (s *Service) requeue(ctx context.Context, transcodeID string, attempt int32, reason string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return s.changeAttempt(ctx, tx, transcodeID, attempt, func(row db.Transcode) error {
			if attempt < maxAttempts {
				return s.requeueTx(ctx, tx, row, pauseAfter(int(attempt)), 0)
			}
			s.config.Log.Warn("a transcode failed in all attempts", "transcode", transcodeID, "reason", reason)
			_, err := s.finishTx(ctx, tx, row, Failed, new(fmt.Sprintf("%s It was tried %d times.", reason, attempt)))
			return err
		})
	})
}

// postpone makes a transcode QUEUED after an attempt that doesn't count, unless the attempt is over.
func (s *Service) postpone(ctx context.Context, transcodeID string, attempt int32, pause time.Duration) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return s.changeAttempt(ctx, tx, transcodeID, attempt, func(row db.Transcode) error { return s.requeueTx(ctx, tx, row, pause, 1) })
	})
}

// requeueTx makes a locked transcode QUEUED. uncounted is 1 for an attempt that doesn't count, and 0 otherwise.
func (s *Service) requeueTx(ctx context.Context, tx pgx.Tx, row db.Transcode, pause time.Duration, uncounted int32) error {
	now := s.config.Now()
	err := db.New(tx).RequeueTranscode(ctx, db.RequeueTranscodeParams{ID: row.ID, DueAt: now.Add(pause), Uncounted: uncounted, Now: now})
	if err != nil {
		return fmt.Errorf("requeue transcode: %w", err)
	}
	return s.addRun(ctx, tx, pause)
}
