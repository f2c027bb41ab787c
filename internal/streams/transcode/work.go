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

// Queue is the queue of turns.
const Queue = "transcodes"

// TurnArgs is a turn: it starts one QUEUED job and works on it.
type TurnArgs struct{}

// Kind is the job's name.
func (TurnArgs) Kind() string { return "transcode_turn" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (TurnArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: Queue} }

// Workers returns the number of turns that this process takes at a time; 0 if it has no Maker.
func (s *Service) Workers() int {
	if s.config.Maker == nil {
		return 0
	}
	return s.config.Workers
}

// addTurn adds a turn, after a pause. Each change of a job to QUEUED adds one.
func (s *Service) addTurn(ctx context.Context, tx pgx.Tx, pause time.Duration) error {
	opts := &river.InsertOpts{Queue: Queue}
	if pause > 0 {
		opts.ScheduledAt = s.config.Now().Add(pause)
	}
	return s.insertJob(ctx, tx, TurnArgs{}, opts)
}

// errOver is the cause of the end of an attempt whose job was cancelled or has another worker.
var errOver = errors.New("the attempt is over")

// TakeTurn starts the next QUEUED job and works on it; it returns at once if there is none. It isn't one transaction. When ctx
// ends, the job waits for another turn. Config.Maker must be set.
func (s *Service) TakeTurn(ctx context.Context) error {
	t, err := db.New(s.config.Pool).ClaimTranscode(ctx, db.ClaimTranscodeParams{Node: s.config.Node, Now: s.config.Now()})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim a transcode: %w", err)
	}
	a := &attempt{service: s, job: t}
	err = a.run(ctx)
	if errors.Is(err, errOver) {
		return s.DeleteFiles(ctx, t.ID) // if it was cancelled
	}
	// The end of an attempt is stored also while the process stops.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), heartbeatTimeout)
	defer cancel()
	var fault MediaError
	switch {
	case err == nil:
		return a.complete(ending)
	case ctx.Err() != nil:
		return s.requeue(ending, t.ID, t.Attempt, false, "")
	case errors.As(err, &fault):
		return s.fail(ending, t.ID, t.Attempt, fault.Reason)
	}
	const reason = "the files could not be made: the storage, the disk or the encoder failed"
	return errors.Join(err, s.requeue(ending, t.ID, t.Attempt, true, reason))
}

// attempt is the work of this process on a job.
type attempt struct {
	service *Service
	job     db.Transcode
	outputs []Output
	length  time.Duration
	percent atomic.Int32
}

// run makes the missing files. It returns errOver when the job was cancelled or has another worker.
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

	if a.outputs, err = outputsOf(a.job); err != nil {
		return err
	}
	var renditions []Rendition
	if err := json.Unmarshal(a.job.Renditions, &renditions); err != nil {
		return fmt.Errorf("decode renditions: %w", err)
	}
	missing := slices.DeleteFunc(renditions, func(r Rendition) bool {
		return slices.ContainsFunc(a.outputs, func(o Output) bool { return o.Name == r.Name })
	})
	if len(missing) == 0 {
		return nil
	}
	media, err := s.config.Recordings.StoredMedia(ctx, a.job.RecordingID)
	if problem.Is(err, "not_found") {
		return MediaError{"the recording was deleted"}
	}
	if err != nil {
		return err
	}
	for _, g := range media.Segments {
		a.length += g.Duration
	}
	return s.config.Maker.MakeRenditions(ctx, Work{
		ID: a.job.ID, Media: media, Container: a.job.Container, Renditions: missing,
	}, a.progress, a.stored)
}

// progress notes the position in the recording for the next heartbeat.
func (a *attempt) progress(done time.Duration) {
	if a.length > 0 {
		const storing = 99 // the last percent is the storing
		a.percent.Store(int32(min(storing, done*100/a.length)))
	}
}

// stored notes a stored file in the job's row.
func (a *attempt) stored(ctx context.Context, o Output) error {
	a.outputs = append(a.outputs, o)
	list, err := json.Marshal(a.outputs)
	if err != nil {
		return fmt.Errorf("encode outputs: %w", err)
	}
	changed, err := db.New(a.service.config.Pool).SetTranscodeOutputs(ctx, db.SetTranscodeOutputsParams{
		ID: a.job.ID, Attempt: a.job.Attempt, Outputs: list, Now: a.service.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("set outputs: %w", err)
	}
	if changed == 0 {
		return errOver
	}
	return nil
}

// beat sends heartbeats until ctx ends, and ends it when the attempt is over. A heartbeat that fails is made up for by the next one.
func (a *attempt) beat(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(a.service.config.BeatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		changed, err := db.New(a.service.config.Pool).BeatTranscode(ctx, db.BeatTranscodeParams{
			ID: a.job.ID, Attempt: a.job.Attempt, Progress: int16(a.percent.Load()), Now: a.service.config.Now(),
		})
		if err == nil && changed == 0 {
			cancel(errOver)
			return
		}
	}
}

// complete makes the job COMPLETED, after the usage is stored.
func (a *attempt) complete(ctx context.Context) error {
	s, t := a.service, a.job
	if err := s.recordUsage(ctx, t, a.outputs); err != nil {
		return errors.Join(err, s.requeue(ctx, t.ID, t.Attempt, true, "the usage could not be stored"))
	}
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		deleted, err := s.config.Recordings.IsDeletedTx(ctx, tx, t.RecordingID)
		if err != nil {
			return err
		}
		return s.changeAttempt(ctx, tx, t.ID, t.Attempt, func(row db.Transcode) error {
			status, reason := Completed, (*string)(nil)
			if deleted {
				status, reason = Failed, new("the recording was deleted")
			}
			_, err := s.finishTx(ctx, tx, row, status, reason)
			return err
		})
	})
}

// recordUsage stores the minutes of the files. Repeating it has no effect.
func (s *Service) recordUsage(ctx context.Context, t db.Transcode, outputs []Output) error {
	project, err := s.config.Recordings.Project(ctx, t.RecordingID)
	if err != nil {
		return err
	}
	var list []usage.Interval
	for _, o := range outputs {
		if o.Duration > 0 {
			list = append(list, usage.Interval{
				Owner: usage.Owner{TenantID: t.TenantID, ProjectID: project}, Source: entity + " " + o.Name, ResourceID: t.ID,
				Meter: usage.TranscodeMinutes, Quality: o.Quality(), From: *t.StartedAt, To: t.StartedAt.Add(o.Duration),
				Amount: int64(math.Ceil(o.Duration.Seconds())),
			})
		}
	}
	_, err = s.config.Usage.Record(ctx, list)
	return err
}

// changeAttempt runs fn with the locked job if the attempt is not over.
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

// fail makes a job FAILED, unless the attempt is over.
func (s *Service) fail(ctx context.Context, transcodeID string, attempt int32, reason string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return s.changeAttempt(ctx, tx, transcodeID, attempt, func(row db.Transcode) error {
			_, err := s.finishTx(ctx, tx, row, Failed, &reason)
			return err
		})
	})
}

// requeue makes a job QUEUED again, unless the attempt is over. An attempt that counts delays the next one, and the last one makes the
// job FAILED with the reason.
func (s *Service) requeue(ctx context.Context, transcodeID string, attempt int32, counts bool, reason string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return s.changeAttempt(ctx, tx, transcodeID, attempt, func(row db.Transcode) error {
			if counts && attempt >= maxAttempts {
				_, err := s.finishTx(ctx, tx, row, Failed, new(fmt.Sprintf("%s, in %d attempts", reason, attempt)))
				return err
			}
			pause, uncounted := time.Duration(0), int32(1)
			if counts {
				pause, uncounted = pauseAfter(int(attempt)), 0
			}
			now := s.config.Now()
			err := db.New(tx).RequeueTranscode(ctx, db.RequeueTranscodeParams{ID: row.ID, DueAt: now.Add(pause), Uncounted: uncounted, Now: now})
			if err != nil {
				return fmt.Errorf("requeue transcode: %w", err)
			}
			return s.addTurn(ctx, tx, pause)
		})
	})
}
