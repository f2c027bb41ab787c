package recording

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/usage"
)

// FinishRecording makes a recording READY or FAILED that has ended and of which no take or part is unfinished. Then, in a transaction
// of its own, it stores the usage. Repeating it has no effect.
func (s *Service) FinishRecording(ctx context.Context, recordingID string) error {
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, err := q.LockRecording(ctx, recordingID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock recording: %w", err)
		}
		if r.Status != Processing || r.Source != Builtin && r.Source != Session || r.ClipOf != nil {
			return nil
		}
		unfinished, err := isUnfinished(ctx, q, r)
		if err != nil || unfinished {
			return err // the end of the take or part adds another job
		}
		return s.finalizeTx(ctx, tx, r)
	})
	if err != nil {
		return err
	}
	return s.recordUsage(ctx, recordingID)
}

// finalizeTx decides over a locked recording by its segments.
func (s *Service) finalizeTx(ctx context.Context, tx pgx.Tx, r db.Recording) error {
	q := db.New(tx)
	sum, err := q.SumRecording(ctx, r.ID)
	if err != nil {
		return fmt.Errorf("sum recording: %w", err)
	}
	take, err := q.GetTakeReason(ctx, r.ID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("get reason of take: %w", err)
	}
	if r.Source == Session {
		part, err := q.GetPartReason(ctx, r.ID)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("get reason of part: %w", err)
		}
		take = cmp.Or(part, take)
	}
	reason := incomplete(r.IncompleteReason, take)
	if sum.Segments == 0 {
		return s.failTx(ctx, tx, r, nothing(r, reason))
	}
	spans, err := spansOf(ctx, q, r.TenantID, r.ID)
	if err != nil {
		return err
	}
	tracks, err := placeTracks(ctx, q, r)
	if err != nil {
		return err
	}
	return s.readyTx(ctx, tx, r, result{
		spans: spans[r.ID], duration: micro(sum.DurationUs).Round(time.Millisecond), size: sum.Bytes + tracks, incomplete: reason,
	})
}

// result is what a READY recording has.
type result struct {
	spans      []span // at least one
	duration   time.Duration
	size       int64
	incomplete *string
	playlist   *string
	// timeline of a clip; nil to compute it.
	timeline []Pin
}

// readyTx makes a locked recording READY.
func (s *Service) readyTx(ctx context.Context, tx pgx.Tx, r db.Recording, is result) error {
	q, now := db.New(tx), s.config.Now()
	days, err := s.config.Plans.RetentionDaysTx(ctx, tx, r.TenantID)
	if err != nil {
		return err
	}
	if r.EndedAt == nil {
		r.EndedAt = &now
	}
	pins := is.timeline
	if pins == nil {
		if pins, err = s.computeTimeline(ctx, r, is.spans); err != nil {
			return err
		}
	}
	entries, err := json.Marshal(pins)
	if err != nil {
		return fmt.Errorf("write product timeline: %w", err)
	}
	r, err = q.SetRecordingReady(ctx, db.SetRecordingReadyParams{
		TenantID: r.TenantID, ID: r.ID, StartedAt: is.spans[0].startedAt, EndedAt: r.EndedAt,
		DurationMs: new(is.duration.Milliseconds()), SizeBytes: &is.size, IncompleteReason: is.incomplete, PlaylistURL: is.playlist,
		ProductTimeline: entries, RetainUntil: retainUntil(r, days, now), Now: now,
	})
	if err != nil {
		return fmt.Errorf("set recording ready: %w", err)
	}
	if lacksAssets(r) {
		if err := s.insertJob(ctx, tx, MakeAssetsArgs{RecordingID: r.ID}, nil); err != nil {
			return err
		}
	}
	p := s.playback(r, s.inAnHour())
	if r.Source == Session {
		return s.config.Sessions.RecordingFinalTx(ctx, tx, r, &p.URL)
	}
	project, err := projectTx(ctx, tx, r)
	if err != nil {
		return err
	}
	return s.config.Events.EmitTx(ctx, tx, event.Event{
		TenantID: r.TenantID, Name: event.RecordingReady, Subject: r.ID,
		Data: eventdata.RecordingReadyData{
			RecordingID: r.ID, StreamID: *r.StreamID, ProjectID: project, Name: r.Name, URL: p.URL, URLExpiresAt: timestamp.From(p.ExpiresAt),
			DurationSec: is.duration.Seconds(), SizeBytes: is.size, IncompleteReason: r.IncompleteReason,
			StartedAt: timestamp.From(r.StartedAt), EndedAt: timestamp.From(*r.EndedAt), ClipOfRecordingID: r.ClipOf, Metadata: r.Metadata,
		},
	})
}

// failTx makes a locked recording FAILED.
func (s *Service) failTx(ctx context.Context, tx pgx.Tx, r db.Recording, reason string) error {
	now := s.config.Now()
	days, err := s.config.Plans.RetentionDaysTx(ctx, tx, r.TenantID)
	if err != nil {
		return err
	}
	if r.EndedAt == nil {
		r.EndedAt = &now
	}
	r, err = db.New(tx).SetRecordingFailed(ctx, db.SetRecordingFailedParams{
		TenantID: r.TenantID, ID: r.ID, EndedAt: r.EndedAt, Error: &reason, RetainUntil: retainUntil(r, days, now), Now: now,
	})
	if err != nil {
		return fmt.Errorf("set recording failed: %w", err)
	}
	if r.Source == Session {
		return s.config.Sessions.RecordingFinalTx(ctx, tx, r, nil)
	}
	return nil
}

// FinalizeRecording stores the report of an outside recorder, which ends the recording. Only the first report has an effect.
func (s *Service) FinalizeRecording(ctx context.Context, recordingID string, report Report) (changed bool, err error) {
	if err := report.check(); err != nil {
		return false, err
	}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		changed = false
		r, err := db.New(tx).LockRecording(ctx, recordingID)
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		if r.Source != External {
			return problem.Conflicting("this server makes the recording itself")
		}
		if isFinal(r.Status) {
			return nil
		}
		changed = true
		if !report.Ready {
			return s.failTx(ctx, tx, r, *report.Error)
		}
		is := result{
			spans: []span{{r.StartedAt, report.duration()}}, duration: report.duration(), playlist: report.PlaylistURL,
			incomplete: r.IncompleteReason,
		}
		if report.SizeBytes != nil {
			is.size = *report.SizeBytes
		}
		if err := s.readyTx(ctx, tx, r, is); err != nil {
			return err
		}
		return s.insertJob(ctx, tx, FinalizeArgs{RecordingID: r.ID}, nil) // for the usage
	})
	return changed, err
}

// recordUsage stores the minutes of a READY recording.
func (s *Service) recordUsage(ctx context.Context, recordingID string) error {
	r, err := db.New(s.config.Pool).FindRecording(ctx, recordingID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && (r.Status != Ready && r.Status != Deleted || durationOf(r) == 0 || r.ClipOf != nil) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find recording: %w", err)
	}
	project, err := projectTx(ctx, s.config.Pool, r)
	if err != nil {
		return err
	}
	owner := usage.Owner{TenantID: r.TenantID}
	if project != nil {
		owner.ProjectID = *project
	}
	_, err = s.config.Usage.Record(ctx, []usage.Interval{{
		Owner: owner, Source: entity, ResourceID: r.ID, Meter: usage.RecordingMinutes,
		From: r.StartedAt, To: r.StartedAt.Add(durationOf(r)), Amount: int64(math.Ceil(durationOf(r).Seconds())),
	}})
	return err
}
