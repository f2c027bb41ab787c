package speech

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/media/utterance"
	"showfloor/internal/outflow/ai"
	"showfloor/internal/rooms/transcript"
)

// maxPatience is how long after it was stored an utterance is tried: a busy endpoint may demand pauses again and again.
const maxPatience = 30 * time.Minute

// Recognize asks the model for the words of an utterance, stores them as a line of the transcript, and deletes the utterance. It has no
// effect for one that was recognized. If wait isn't 0, nothing was done, because the model or this process is busy: try again after that
// time. If the model refuses the utterance, or last is true and it fails, the utterance is deleted without a line.
func (s *Service) Recognize(ctx context.Context, tenantID, utteranceID string, last bool) (wait time.Duration, err error) {
	if !s.places.Take(tenantID) {
		return busyPause + rand.N(busyPause), nil
	}
	defer s.places.Release(tenantID)
	u, err := db.New(s.config.Pool).GetUtterance(ctx, db.GetUtteranceParams{TenantID: tenantID, ID: utteranceID})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get utterance: %w", err)
	}
	row, err := s.config.Sessions.FindSession(ctx, tenantID, u.SessionID)
	if err != nil {
		return 0, err
	}
	wanted, err := s.config.Transcripts.Wants(ctx, row, u.UserID, u.StartedAt, u.EndedAt)
	if err != nil {
		return 0, err
	}
	if !wanted || s.config.Recognizer == nil { // the setting was removed
		return 0, s.settle(ctx, row, u, Words{}, "unwanted")
	}
	words, err := s.ask(ctx, u)
	last = last || s.waited(u) > maxPatience
	later, busy := errors.AsType[ai.RetryError](err)
	refused, no := errors.AsType[ai.RefusedError](err)
	switch {
	case err == nil && words.Text == "":
		return 0, s.settle(ctx, row, u, words, "silent")
	case err == nil:
		return 0, s.settle(ctx, row, u, words, "recognized")
	case no:
		s.config.Log.Warn("the model for speech refused an utterance", "session", u.SessionID, "reason", refused.Reason)
		return 0, s.settle(ctx, row, u, words, "refused")
	case busy && !last:
		s.config.Observe("retried")
		return later.After + rand.N(busyPause), nil
	case last && ctx.Err() == nil:
		s.config.Log.Error("an utterance was not recognized, and is missing in its transcript", "session", u.SessionID, "error", err)
		return 0, s.settle(ctx, row, u, words, "failed")
	}
	s.config.Observe("retried")
	return 0, err
}

// ask returns the model's words.
func (s *Service) ask(ctx context.Context, u db.Utterance) (Words, error) {
	wave, err := utterance.Wave(ctx, u.Sound)
	if err != nil {
		return Words{}, err
	}
	words, err := s.config.Recognizer.Recognize(ctx, wave)
	if err != nil {
		return words, fmt.Errorf("recognize speech: %w", err)
	}
	return words, nil
}

// settle stores the words and deletes the utterance. An answer that was paid for is stored even if ctx has ended.
func (s *Service) settle(ctx context.Context, row db.Session, u db.Utterance, words Words, outcome string) error {
	err := postgres.InTx(context.WithoutCancel(ctx), s.config.Pool, func(tx pgx.Tx) error {
		deleted, err := db.New(tx).DeleteUtterance(ctx, db.DeleteUtteranceParams{TenantID: u.TenantID, ID: u.ID})
		if err != nil {
			return fmt.Errorf("delete utterance: %w", err)
		}
		if deleted == 0 || words.Text == "" {
			return nil
		}
		return s.config.Transcripts.KeepSpokenTx(ctx, tx, row, transcript.Spoken{
			UserID: u.UserID, Key: u.Key, Text: words.Text, Language: words.Language, StartedAt: u.StartedAt, EndedAt: u.EndedAt,
		})
	})
	if err == nil {
		s.config.Observe(outcome)
	}
	return err
}
