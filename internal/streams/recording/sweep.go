package recording

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/queue"
	"showfloor/internal/streams/stream"
)

// Sweep finds recordings that no process finishes by itself, and finishes them. Each is a transaction of its own; one that fails
// doesn't keep the others. If all recordings are finished, it makes one query.
func (s *Service) Sweep(ctx context.Context) error {
	unfinished, err := db.New(s.config.Pool).HasUnfinishedRecordings(ctx)
	if err != nil {
		return fmt.Errorf("look for unfinished recordings: %w", err)
	}
	if !unfinished {
		return nil
	}
	return errors.Join(
		// The first three come first, because the others add jobs of their own.
		s.finishUnfinished(ctx), s.deleteUndeleted(ctx), s.makeUnmade(ctx),
		s.closeSilent(ctx), s.endStranded(ctx), s.wakeIdle(ctx), s.failUnreported(ctx), s.failAbandoned(ctx),
		s.loseParts(ctx), s.endIdleSessions(ctx),
	)
}

// closeSilent closes the takes whose process sends no heartbeats.
func (s *Service) closeSilent(ctx context.Context) error {
	now := s.config.Now()
	if !s.config.Steady(now) {
		return nil // if this node could not write for a while, others could not write their heartbeats either
	}
	before := now.Add(-heartbeatTimeout)
	rows, err := db.New(s.config.Pool).ListSilentTakes(ctx, before)
	if err != nil {
		return fmt.Errorf("list silent takes: %w", err)
	}
	var errs []error
	for _, r := range rows {
		errs = append(errs, postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
			return s.closeTakeTx(ctx, tx, TakeID{r.RecordingID, int(r.Take)}, reasonSilent, true, func(_ db.Recording, t db.RecordingTake) bool {
				return t.ClosedAt == nil && t.SeenAt.Before(before)
			})
		}))
	}
	return errors.Join(errs...)
}

// endStranded ends recordings whose broadcast is over.
func (s *Service) endStranded(ctx context.Context) error {
	rows, err := db.New(s.config.Pool).ListStrandedRecordings(ctx)
	if err != nil {
		return fmt.Errorf("list stranded recordings: %w", err)
	}
	var errs []error
	for _, r := range rows {
		errs = append(errs, s.withActive(ctx, r.TenantID, r.StreamID, func(tx pgx.Tx, st db.Stream, active db.Recording) error {
			if !isStranded(active, st) {
				return nil
			}
			return s.endTx(ctx, tx, active, strandedEnd(active, st, s.config.Now()), nil)
		}))
	}
	return errors.Join(errs...)
}

// wakeIdle notifies the nodes of recordings on which no take works, and ends those that remain so.
func (s *Service) wakeIdle(ctx context.Context) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	rows, err := q.ListIdleRecordings(ctx, now.Add(-heartbeatTimeout))
	if err != nil {
		return fmt.Errorf("list idle recordings: %w", err)
	}
	var errs []error
	for _, r := range rows {
		if now.Sub(r.IdleSince) < idleEnds {
			errs = append(errs, s.notify(ctx, q, r.StreamID))
			continue
		}
		errs = append(errs, s.withActive(ctx, r.TenantID, r.StreamID, func(tx pgx.Tx, _ db.Stream, active db.Recording) error {
			open, err := db.New(tx).HasOpenTake(ctx, active.ID)
			if err != nil {
				return fmt.Errorf("look for open takes: %w", err)
			}
			if open || active.ID != r.ID || now.Sub(active.WantedAt) < idleEnds {
				return nil
			}
			return s.endTx(ctx, tx, active, s.config.Now(), new(reasonIdle))
		}))
	}
	return errors.Join(errs...)
}

// withActive runs fn with the locked stream and its locked active recording. It does nothing if there is none any more.
func (s *Service) withActive(
	ctx context.Context, tenantID, streamID string, fn func(tx pgx.Tx, st db.Stream, active db.Recording) error,
) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		st, err := stream.LockTx(ctx, tx, tenantID, streamID)
		if _, missing := problem.As(err); missing {
			return nil
		}
		if err != nil {
			return err
		}
		active, err := lockActive(ctx, db.New(tx), st)
		if err != nil || active == nil {
			return err
		}
		return fn(tx, st, *active)
	})
}

// failUnreported fails recordings whose outside recorder hasn't reported the result in time.
func (s *Service) failUnreported(ctx context.Context) error {
	before := s.config.Now().Add(-s.config.RecorderTimeout)
	ids, err := db.New(s.config.Pool).ListUnreportedRecordings(ctx, before)
	if err != nil {
		return fmt.Errorf("list unreported recordings: %w", err)
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
			r, err := db.New(tx).LockRecording(ctx, id)
			if err != nil {
				return fmt.Errorf("lock recording: %w", err)
			}
			if r.Status != Processing {
				return nil
			}
			return s.failTx(ctx, tx, r, fmt.Sprintf("%s within %s", reasonUnreported, s.config.RecorderTimeout))
		}))
	}
	return errors.Join(errs...)
}

// finishUnfinished adds the lost jobs of recordings that can be finalized.
func (s *Service) finishUnfinished(ctx context.Context) error {
	ids, err := db.New(s.config.Pool).ListUnfinishedRecordings(ctx)
	if err != nil {
		return fmt.Errorf("list unfinished recordings: %w", err)
	}
	return s.insertJobs(ctx, ids, func(id string) river.JobArgs { return FinalizeArgs{id} })
}

// deleteUndeleted adds the lost jobs of recordings whose files are to be deleted.
func (s *Service) deleteUndeleted(ctx context.Context) error {
	ids, err := db.New(s.config.Pool).ListUndeletedRecordings(ctx, s.config.Now().Add(-heartbeatTimeout))
	if err != nil {
		return fmt.Errorf("list undeleted recordings: %w", err)
	}
	return s.insertJobs(ctx, ids, func(id string) river.JobArgs { return DeleteFilesArgs{id} })
}

// insertJobs adds a job for each id, unless it has one that is not finished.
func (s *Service) insertJobs(ctx context.Context, ids []string, args func(id string) river.JobArgs) error {
	if len(ids) == 0 {
		return nil
	}
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		for _, id := range ids {
			if err := s.insertJob(ctx, tx, args(id), &river.InsertOpts{UniqueOpts: queue.Unfinished()}); err != nil {
				return err
			}
		}
		return nil
	})
}
