package speech

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/utterance"
	"showfloor/internal/rooms/session"
)

// Queue is the queue of RecognizeArgs.
const Queue = "speech"

const (
	// ModelAttempts is how often the model is asked. The pauses between the attempts sum up to 11 minutes.
	ModelAttempts = 6
	// maxAttempts of a job: those after ModelAttempts are for failures of the database.
	maxAttempts = 12
)

// RecognizeArgs is the job that writes down an utterance.
type RecognizeArgs struct {
	TenantID    string `json:"tenantId"`
	UtteranceID string `json:"utteranceId"`
}

// Kind is the job's name.
func (RecognizeArgs) Kind() string { return "speech_recognize" }

// InsertOpts selects the queue.
func (RecognizeArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Queue, MaxAttempts: maxAttempts}
}

// KeepUtterance stores an utterance of a session and adds its job. A repeated call has no effect. It returns utterance.ErrUnwanted if
// its words would not become a line, or if too many utterances wait.
func (s *Service) KeepUtterance(ctx context.Context, u utterance.Utterance) error {
	row, err := s.config.Sessions.FindSession(ctx, u.TenantID, u.RoomID)
	if problem.Is(err, "not_found") || err == nil && !s.takesSpeech(row) {
		return s.unwanted()
	}
	if err != nil {
		return err
	}
	speaker, err := s.config.Sessions.NameOf(ctx, row.TenantID, row.ID, u.UserID)
	if problem.Is(err, "not_found") {
		return s.unwanted()
	}
	if err != nil {
		return err
	}
	switch wanted, err := s.config.Transcripts.Wants(ctx, db.New(s.config.Pool), row, u.UserID, u.StartedAt, u.EndedAt); {
	case err != nil:
		return err
	case !wanted:
		return s.unwanted()
	}
	stored := false
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		stored, err = s.create(ctx, tx, row, speaker, u)
		return err
	})
	if err == nil && !stored {
		s.Drop()
		return utterance.ErrUnwanted
	}
	return err
}

// create stores an utterance with its job. It returns false if too many wait.
func (s *Service) create(ctx context.Context, tx pgx.Tx, row db.Session, speaker string, u utterance.Utterance) (stored bool, err error) {
	q, key := db.New(tx), u.TrackID+"-"+strconv.FormatInt(u.StartedAt.UnixMilli(), 10)
	has, err := q.HasUtterance(ctx, db.HasUtteranceParams{TenantID: row.TenantID, SessionID: row.ID, UserID: u.UserID, Key: key})
	if err != nil {
		return false, fmt.Errorf("look for an utterance: %w", err)
	}
	if has {
		return true, nil
	}
	args := RecognizeArgs{row.TenantID, id.New(id.Utterance)}
	added, err := q.CreateUtterance(ctx, db.CreateUtteranceParams{
		ID: args.UtteranceID, TenantID: row.TenantID, SessionID: row.ID, UserID: u.UserID, Speaker: speaker, Key: key, Sound: u.Sound,
		StartedAt: u.StartedAt, EndedAt: u.EndedAt, Now: s.config.Now(),
		SpeakerMost: speakerUtterances, SessionMost: sessionUtterances, TenantMost: tenantUtterances,
	})
	if err != nil {
		return false, fmt.Errorf("create utterance: %w", err)
	}
	if added == 0 {
		return false, nil
	}
	if _, err := s.config.Jobs.InsertTx(ctx, tx, args, nil); err != nil {
		return false, fmt.Errorf("insert a job that recognizes speech: %w", err)
	}
	return true, nil
}

// Drop counts an utterance that a limit has dropped.
func (s *Service) Drop() { s.config.Observe("dropped") }

func (s *Service) unwanted() error {
	s.config.Observe("unwanted")
	return utterance.ErrUnwanted
}

// takesSpeech reports whether words of a session can still become lines.
func (s *Service) takesSpeech(row db.Session) bool {
	return row.TranscriptionEnabled && (row.EndedAt == nil || s.config.Now().Sub(*row.EndedAt) < late)
}

// Awaits reports whether the summary of an ended session must wait for utterances: for a minute if the model has failed with all of
// them, else for 10 minutes at most.
func (s *Service) Awaits(ctx context.Context, row db.Session) (bool, error) {
	if row.EndedAt == nil || !s.Works() {
		return false, nil
	}
	ended := s.config.Now().Sub(*row.EndedAt)
	if ended >= late {
		return false, nil
	}
	some, err := db.New(s.config.Pool).HasUtterances(ctx, db.HasUtterancesParams{
		TenantID: row.TenantID, SessionID: row.ID, Failed: ended < failedLate,
	})
	if err != nil {
		return false, fmt.Errorf("look for utterances: %w", err)
	}
	return some, nil
}

// DeleteOld deletes utterances that have waited too long: their jobs are lost.
func (s *Service) DeleteOld(ctx context.Context) error {
	before := s.config.Now().Add(-keepUtterances)
	return postgres.DeleteInBatches(ctx, "utterances", func(maxRows int32) (int64, error) {
		return db.New(s.config.Pool).DeleteUtterancesBefore(ctx, db.DeleteUtterancesBeforeParams{Before: before, MaxRows: maxRows})
	})
}

var _ session.Dependent = (*Service)(nil)

// EmptySessions implements session.Dependent. An old session has no utterances, or few.
func (*Service) EmptySessions(context.Context, []string) error { return nil }

// DeleteOfSessionsTx implements session.Dependent.
func (*Service) DeleteOfSessionsTx(ctx context.Context, tx pgx.Tx, ids []string) error {
	if err := db.New(tx).DeleteUtterancesOfSessions(ctx, ids); err != nil {
		return fmt.Errorf("delete utterances of sessions: %w", err)
	}
	return nil
}

// waited is how long ago an utterance was stored.
func (s *Service) waited(u db.Utterance) time.Duration { return s.config.Now().Sub(u.CreatedAt) }
