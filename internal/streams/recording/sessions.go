package recording

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
)

// sessionIdleEnds is the time without a room that writes after which the recording of a session ends.
const sessionIdleEnds = time.Hour

// Sessions knows the sessions whose rooms are recorded.
type Sessions interface {
	// RecordingEndedTx is called before a recording is ended that no one has stopped. It locks the session, and notes that it isn't being
	// recorded any more. It has no effect if the session doesn't exist any more.
	RecordingEndedTx(ctx context.Context, tx pgx.Tx, tenantID, sessionID, recordingID string) error
	// RecordingFinalTx is called in the transaction that makes the recording of a session READY or FAILED. It emits
	// session.recording.stopped. url is nil for FAILED.
	RecordingFinalTx(ctx context.Context, tx pgx.Tx, r db.Recording, url *string) error
}

// CreateOfSessionTx begins the recording of a locked session, with the id and the metadata of p; 403 plan_limit if
// the included minutes or bytes are used up. The nodes are notified by the change of
// the session.
func (s *Service) CreateOfSessionTx(ctx context.Context, tx pgx.Tx, p db.CreateSessionRecordingParams) (db.Recording, error) {
	if err := s.mayRecordTx(ctx, tx, p.TenantID); err != nil {
		return db.Recording{}, err
	}
	p.Now = s.config.Now()
	if p.SeparateTracks {
		p.TracksKey = new(rand.Text())
	}
	r, err := db.New(tx).CreateSessionRecording(ctx, p)
	if err != nil {
		return r, fmt.Errorf("create a session's recording: %w", err)
	}
	return r, nil
}

// LockOfSessionTx locks a recording of a locked session; the problem not_found if the session has no such recording.
func (s *Service) LockOfSessionTx(ctx context.Context, tx pgx.Tx, tenantID, sessionID, recordingID string) (db.Recording, error) {
	r, err := db.New(tx).LockRecordingOfTenant(ctx, db.LockRecordingOfTenantParams{TenantID: tenantID, ID: recordingID})
	if err := found(err, "lock recording"); err != nil {
		return r, err
	}
	if r.SessionID == nil || *r.SessionID != sessionID {
		return r, problem.Missing("recording")
	}
	return r, nil
}

// EndOfSessionTx ends a locked recording of a session, if it is RECORDING, and returns it.
func (s *Service) EndOfSessionTx(ctx context.Context, tx pgx.Tx, r db.Recording) (db.Recording, error) {
	if r.Status != Recording {
		return r, nil
	}
	return s.endOfSessionTx(ctx, tx, r, nil)
}

func (s *Service) endOfSessionTx(ctx context.Context, tx pgx.Tx, r db.Recording, reason *string) (db.Recording, error) {
	now := s.config.Now()
	r, err := db.New(tx).EndRecording(ctx, db.EndRecordingParams{
		TenantID: r.TenantID, ID: r.ID, EndedAt: &now, IncompleteReason: reason, Now: now,
	})
	if err != nil {
		return r, fmt.Errorf("end recording: %w", err)
	}
	return r, s.finishTx(ctx, tx, r)
}

// errNotIdle means that a room writes to a recording again.
var errNotIdle = errors.New("the recording isn't idle any more")

// EndSessionRecording ends a session's recording that can't go on. It has no effect if the recording has ended. reason says why it is
// incomplete.
func (s *Service) EndSessionRecording(ctx context.Context, recordingID, reason string) error {
	return s.endUnstopped(ctx, recordingID, &reason, func(*db.Queries) error { return nil })
}

// endUnstopped ends a session's recording that no one has stopped, unless check returns an error. check is called when it is locked.
func (s *Service) endUnstopped(ctx context.Context, recordingID string, reason *string, check func(q *db.Queries) error) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, err := q.FindRecording(ctx, recordingID) // its session is locked before it
		if errors.Is(err, pgx.ErrNoRows) || err == nil && (r.Status != Recording || r.SessionID == nil) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find recording: %w", err)
		}
		if err := s.config.Sessions.RecordingEndedTx(ctx, tx, r.TenantID, *r.SessionID, r.ID); err != nil {
			return err
		}
		r, err = q.LockRecording(ctx, recordingID)
		if err != nil {
			return fmt.Errorf("lock recording: %w", err)
		}
		if r.Status != Recording {
			return nil
		}
		if err := check(q); err != nil {
			return err
		}
		_, err = s.endOfSessionTx(ctx, tx, r, reason)
		return err
	})
}

// ListSessionRecordings pages through the recordings of a session, as ListRecordings does. The caller has checked the session.
func (s *Service) ListSessionRecordings(
	ctx context.Context, c tenancy.Caller, sessionID string, cursor *string, limit int,
) ([]View, error) {
	rows, err := db.New(s.config.Pool).ListSessionRecordings(ctx, db.ListSessionRecordingsParams{
		TenantID: c.TenantID, SessionID: sessionID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list recordings of a session: %w", err)
	}
	return s.sessionViews(ctx, c.TenantID, rows...)
}

// SessionView is a session's recording as its caller sees it.
func (s *Service) SessionView(ctx context.Context, r db.Recording) (View, error) {
	list, err := s.sessionViews(ctx, r.TenantID, r)
	if err != nil {
		return View{}, err
	}
	return list[0], nil
}

// endIdleSessions ends the recordings of sessions to which no room has written for a long time.
func (s *Service) endIdleSessions(ctx context.Context) error {
	p := db.ListIdleSessionRecordingsParams{Before: s.config.Now().Add(-sessionIdleEnds)}
	ids, err := db.New(s.config.Pool).ListIdleSessionRecordings(ctx, p)
	if err != nil {
		return fmt.Errorf("list idle recordings of sessions: %w", err)
	}
	var errs []error
	for _, id := range ids {
		err := s.endUnstopped(ctx, id, nil, func(q *db.Queries) error {
			p.ID = &id
			idle, err := q.ListIdleSessionRecordings(ctx, p)
			if err != nil {
				return fmt.Errorf("check an idle recording of a session: %w", err)
			}
			if len(idle) == 0 {
				return errNotIdle
			}
			return nil
		})
		if !errors.Is(err, errNotIdle) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// projectTx returns the project of a recording's stream or session; nil for none. tx may also be the pool.
func projectTx(ctx context.Context, tx db.DBTX, r db.Recording) (*string, error) {
	if r.StreamID == nil {
		return r.ProjectID, nil
	}
	return stream.ProjectTx(ctx, tx, *r.StreamID)
}
