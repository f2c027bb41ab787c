package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/usage"
)

// BroadcastLiveTx begins the recording of a broadcast, if the stream's setting demands it, or makes the stream's node continue
// the recording that is being made. row is the locked stream, LIVE; isNew reports a new broadcast. A recording that was stopped
// during the broadcast is not begun again.
func (s *Service) BroadcastLiveTx(ctx context.Context, tx pgx.Tx, row db.Stream, isNew bool) error {
	q, now := db.New(tx), s.config.Now()
	active, err := lockActive(ctx, q, row)
	if err != nil {
		return err
	}
	if active != nil && !isStranded(*active, row) {
		err := q.ContinueRecording(ctx, db.ContinueRecordingParams{TenantID: row.TenantID, ID: active.ID, Node: row.Node, Now: now})
		if err != nil {
			return fmt.Errorf("continue recording: %w", err)
		}
		return s.notify(ctx, q, row.ID)
	}
	if active != nil {
		if err := s.endTx(ctx, tx, *active, strandedEnd(*active, row, now), nil); err != nil {
			return err
		}
	}
	source, ok := sourceOf(row.Node, s.HasOutsideRecorder())
	if !row.RecordingEnabled || !ok {
		return nil
	}
	if !isNew {
		known, err := recordedBefore(ctx, q, row)
		if err != nil || known {
			return err
		}
	}
	if blocked, err := s.isBlockedTx(ctx, tx, row.TenantID); err != nil || blocked {
		return err
	}
	_, err = s.createTx(ctx, tx, row, source, Input{}, json.RawMessage(metadata.None))
	return err
}

// mayRecordTx refuses a new recording of a tenant whose included minutes or bytes are used up: 403 plan_limit.
func (s *Service) mayRecordTx(ctx context.Context, tx pgx.Tx, tenantID string) error {
	return s.config.Usage.CheckAllowanceTx(ctx, tx, tenantID, usage.RecordingMinutes, usage.StorageBytes)
}

// isBlockedTx reports whether mayRecordTx refuses. A broadcast goes on air without a recording then.
func (s *Service) isBlockedTx(ctx context.Context, tx pgx.Tx, tenantID string) (bool, error) {
	err := s.mayRecordTx(ctx, tx, tenantID)
	if problem.Is(err, "plan_limit") {
		return true, nil
	}
	return false, err
}

// BroadcastEndedTx ends the recording that is being made of the stream. row is the locked stream, ENDED.
func (s *Service) BroadcastEndedTx(ctx context.Context, tx pgx.Tx, row db.Stream) error {
	active, err := lockActive(ctx, db.New(tx), row)
	if err != nil || active == nil {
		return err
	}
	return s.endTx(ctx, tx, *active, strandedEnd(*active, row, s.config.Now()), nil)
}

// IsRecordedTx reports whether a publisher's media is to be recorded from its first key picture. row is the locked stream.
func (s *Service) IsRecordedTx(ctx context.Context, tx pgx.Tx, row db.Stream) (bool, error) {
	if !onAir(row) {
		if !row.RecordingEnabled {
			return false, nil
		}
		blocked, err := s.isBlockedTx(ctx, tx, row.TenantID)
		return !blocked, err
	}
	q := db.New(tx)
	_, err := q.GetActiveRecording(ctx, db.GetActiveRecordingParams{TenantID: row.TenantID, StreamID: row.ID})
	switch {
	case err == nil:
		return true, nil
	case !errors.Is(err, pgx.ErrNoRows):
		return false, fmt.Errorf("get active recording: %w", err)
	case !row.RecordingEnabled:
		return false, nil
	}
	if blocked, err := s.isBlockedTx(ctx, tx, row.TenantID); err != nil || blocked {
		return false, err
	}
	known, err := recordedBefore(ctx, q, row)
	return !known, err
}

// recordedBefore reports whether the stream's broadcast already has a recording.
func recordedBefore(ctx context.Context, q *db.Queries, row db.Stream) (bool, error) {
	known, err := q.HasRecordingOfBroadcast(ctx, db.HasRecordingOfBroadcastParams{
		TenantID: row.TenantID, StreamID: row.ID, BroadcastAt: *row.StartedAt,
	})
	if err != nil {
		return false, fmt.Errorf("look for a recording of the broadcast: %w", err)
	}
	return known, nil
}

// lockActive locks the recording that is being made of a stream; nil if there is none.
func lockActive(ctx context.Context, q *db.Queries, row db.Stream) (*db.Recording, error) {
	r, err := q.LockActiveRecording(ctx, db.LockActiveRecordingParams{TenantID: row.TenantID, StreamID: row.ID})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock active recording: %w", err)
	}
	return &r, nil
}

// createTx creates a recording of a locked stream on air, and notifies the recorders.
func (s *Service) createTx(
	ctx context.Context, tx pgx.Tx, row db.Stream, source string, in Input, meta json.RawMessage,
) (db.Recording, error) {
	q := db.New(tx)
	r, err := q.CreateRecording(ctx, db.CreateRecordingParams{
		ID: id.New(id.Recording), TenantID: row.TenantID, StreamID: row.ID, Source: source, Name: in.Name,
		BroadcastAt: *row.StartedAt, Node: row.Node, Metadata: meta, Now: s.config.Now(),
	})
	if err != nil {
		return r, fmt.Errorf("create recording: %w", err)
	}
	if err := s.notifyOutsideTx(ctx, tx, r, noticeStart); err != nil {
		return r, err
	}
	return r, s.notify(ctx, q, row.ID)
}

// endTx ends a locked recording of a stream that is RECORDING. It notifies the recorders, and has the recording finalized if no take works
// on it. reason says why it is incomplete; nil if it isn't.
func (s *Service) endTx(ctx context.Context, tx pgx.Tx, r db.Recording, at time.Time, reason *string) error {
	q := db.New(tx)
	r, err := q.EndRecording(ctx, db.EndRecordingParams{
		TenantID: r.TenantID, ID: r.ID, EndedAt: &at, IncompleteReason: reason, Now: s.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("end recording: %w", err)
	}
	if err := s.notifyOutsideTx(ctx, tx, r, noticeStop); err != nil {
		return err
	}
	if err := s.notify(ctx, q, *r.StreamID); err != nil {
		return err
	}
	return s.finishTx(ctx, tx, r)
}

// finishTx has a locked recording finalized, if it has ended and none of its takes or parts is unfinished.
func (s *Service) finishTx(ctx context.Context, tx pgx.Tx, r db.Recording) error {
	if r.Status != Processing || r.Source != Builtin && r.Source != Session {
		return nil
	}
	unfinished, err := isUnfinished(ctx, db.New(tx), r)
	if err != nil || unfinished {
		return err
	}
	return s.insertJob(ctx, tx, FinalizeArgs{RecordingID: r.ID}, nil)
}

// isUnfinished reports whether a take or a part of a locked recording is unfinished.
func isUnfinished(ctx context.Context, q *db.Queries, r db.Recording) (unfinished bool, err error) {
	if r.Source == Session {
		unfinished, err = q.HasUnfinishedPart(ctx, r.ID)
	} else {
		unfinished, err = q.HasOpenTake(ctx, r.ID)
	}
	if err != nil {
		return false, fmt.Errorf("look for open takes: %w", err)
	}
	return unfinished, nil
}

func (s *Service) insertJob(ctx context.Context, tx pgx.Tx, args river.JobArgs, opts *river.InsertOpts) error {
	if _, err := s.config.Jobs.InsertTx(ctx, tx, args, opts); err != nil {
		return fmt.Errorf("insert job %s: %w", args.Kind(), err)
	}
	return nil
}

// notify sends the stream's id to all nodes at the commit.
func (s *Service) notify(ctx context.Context, q *db.Queries, streamID string) error {
	if err := q.Notify(ctx, db.NotifyParams{Channel: Channel, Payload: streamID}); err != nil {
		return fmt.Errorf("tell the recorders: %w", err)
	}
	return nil
}
