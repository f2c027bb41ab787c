package session

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy"
)

// States of a recording, in the API. The recordings' own are those of package recording.
const (
	recordingState  = "recording"
	processingState = "processing"
	readyState      = "ready"
	failedState     = "failed"
)

// RecordingState returns the state of a session's recording in the API for its status.
func RecordingState(status string) string {
	switch status {
	case "RECORDING":
		return recordingState
	case "PROCESSING":
		return processingState
	case "READY":
		return readyState
	default:
		return failedState
	}
}

// RecordingInput describes a new recording of a session; the handler has checked its limits.
type RecordingInput struct {
	Layout string
	// SeparateTracks keeps each participant's sound also as a file of its own.
	SeparateTracks bool
	Metadata       map[string]string
}

// StartRecording begins to record a live session. Its node writes while participants are in the room.
func (s *Service) StartRecording(ctx context.Context, c tenancy.Caller, sessionID string, in RecordingInput) (r db.Recording, err error) {
	if in.Metadata != nil && c.Participant != nil {
		return r, problem.New(problem.Forbidden, "forbidden", "metadata can be set by your server only, not with a participant token")
	}
	kept, err := metadata.Merge(nil, in.Metadata)
	if err != nil {
		return r, err
	}
	err = s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, a *announcements, row db.Session) error {
		if err := mayRecord(row); err != nil {
			return err
		}
		r, err = s.config.Recordings.CreateOfSessionTx(ctx, tx, db.CreateSessionRecordingParams{
			ID: id.New(id.Recording), TenantID: row.TenantID, SessionID: row.ID, ProjectID: row.ProjectID, Layout: in.Layout,
			SeparateTracks: in.SeparateTracks, Metadata: kept,
		})
		if err != nil {
			return err
		}
		row.RecordingID, row.UpdatedAt = &r.ID, s.config.Now()
		if err := s.saveRecorded(ctx, tx, row); err != nil {
			return err
		}
		a.addRecording(r, event.SessionRecordingStarted, func(metadata json.RawMessage) any {
			return eventdata.SessionRecordingStartedData{
				SessionID: row.ID, RecordingID: r.ID, State: recordingState, Layout: eventdata.SessionRecordingLayout(in.Layout),
				StartedAt: timestamp.From(r.StartedAt), By: By(c), Metadata: metadata,
			}
		})
		return s.audit(ctx, tx, c, "session.start_recording", row.ID, nil, map[string]any{
			"recordingId": r.ID, "layout": in.Layout, "separateTracks": in.SeparateTracks,
		})
	})
	return r, err
}

// mayRecord checks whether a recording of the session may begin.
func mayRecord(s db.Session) error {
	if err := checkOpen(s); err != nil {
		return err
	}
	switch {
	case s.State != Live:
		return problem.Conflicting("the session is %s, not live", s.State)
	case s.RecordingID != nil:
		return problem.Conflicting("the session is being recorded already")
	}
	return nil
}

// StopRecording ends a recording of a session; the session continues. Repeating it has no effect.
func (s *Service) StopRecording(ctx context.Context, c tenancy.Caller, sessionID, recordingID string) (r db.Recording, err error) {
	err = s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, _ *announcements, row db.Session) error {
		if r, err = s.config.Recordings.LockOfSessionTx(ctx, tx, row.TenantID, row.ID, recordingID); err != nil {
			return err
		}
		if row.RecordingID == nil || *row.RecordingID != recordingID {
			return nil
		}
		if r, err = s.config.Recordings.EndOfSessionTx(ctx, tx, r); err != nil {
			return err
		}
		row.RecordingID, row.UpdatedAt = nil, s.config.Now()
		if err := s.saveRecorded(ctx, tx, row); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, "session.stop_recording", row.ID, map[string]any{"recordingId": r.ID}, nil)
	})
	return r, err
}

// saveRecorded saves a locked session whose recording began or ended, and notifies its node at the commit.
func (s *Service) saveRecorded(ctx context.Context, tx pgx.Tx, row db.Session) error {
	if err := saveSession(ctx, tx, row); err != nil {
		return err
	}
	return ChangedTx(ctx, tx, row.ID, "")
}

// endRecording ends the recording of a locked session that ends. The caller saves the session.
func (s *Service) endRecording(ctx context.Context, tx pgx.Tx, row *db.Session) error {
	if row.RecordingID == nil {
		return nil
	}
	r, err := s.config.Recordings.LockOfSessionTx(ctx, tx, row.TenantID, row.ID, *row.RecordingID)
	if err != nil {
		return err
	}
	row.RecordingID = nil
	_, err = s.config.Recordings.EndOfSessionTx(ctx, tx, r)
	return err
}

// RecordingEndedTx locks a session and notes that the recording isn't being made any more, in the caller's transaction, which ends the
// recording. It has no effect if the session doesn't exist any more.
func (s *Service) RecordingEndedTx(ctx context.Context, tx pgx.Tx, tenantID, sessionID, recordingID string) error {
	row, err := LockTx(ctx, tx, tenantID, sessionID)
	if problem.Is(err, "not_found") || err == nil && (row.RecordingID == nil || *row.RecordingID != recordingID) {
		return nil
	}
	if err != nil {
		return err
	}
	row.RecordingID, row.UpdatedAt = nil, s.config.Now()
	return s.saveRecorded(ctx, tx, row)
}

// RecordingFinalTx emits session.recording.stopped for a recording that is READY or FAILED, in the caller's transaction. url plays it for
// an hour; nil for FAILED.
func (s *Service) RecordingFinalTx(ctx context.Context, tx pgx.Tx, r db.Recording, url *string) error {
	var seconds *float64
	if r.DurationMs != nil {
		seconds = new((time.Duration(*r.DurationMs) * time.Millisecond).Seconds())
	}
	a := &announcements{}
	a.addRecording(r, event.SessionRecordingStopped, func(metadata json.RawMessage) any {
		return eventdata.SessionRecordingStoppedData{
			SessionID: *r.SessionID, RecordingID: r.ID, State: eventdata.SessionRecordingState(RecordingState(r.Status)),
			Layout: eventdata.SessionRecordingLayout(*r.Layout), StartedAt: timestamp.From(r.StartedAt), StoppedAt: timestamp.From(*r.EndedAt),
			PlaybackURL: url, DurationSec: seconds, SizeBytes: r.SizeBytes, Error: r.Error, IncompleteReason: r.IncompleteReason, Metadata: metadata,
		}
	})
	return s.announce(ctx, tx, a)
}

// addRecording adds an event whose subject is a session's recording, which is locked. It adds a publication for the room, too, without
// the recording's metadata.
func (a *announcements) addRecording(r db.Recording, name string, build func(metadata json.RawMessage) any) {
	a.events = append(a.events, event.Event{TenantID: r.TenantID, Name: name, Subject: r.ID, Data: build(r.Metadata)})
	a.publications = append(a.publications, realtime.Publication{Room: *r.SessionID, Type: name, Data: build(nil)})
}

// CheckExists checks that the session exists for the tenant, for the list of its recordings.
func (s *Service) CheckExists(ctx context.Context, c tenancy.Caller, sessionID string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		_, err := GetTx(ctx, tx, c.TenantID, sessionID)
		return err
	})
}
