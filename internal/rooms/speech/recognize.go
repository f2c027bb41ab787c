package speech

import (
	"cmp"
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
	"showfloor/internal/tenancy"
)

// maxPatience is how long after it was stored an utterance is tried: a busy endpoint may demand pauses again and again.
const maxPatience = 30 * time.Minute

// settleTime is the time limit for the storage of an answer.
const settleTime = 10 * time.Second

// Recognize asks the model for the words of an utterance, stores them as a line of the transcript, and deletes the utterance. It has no
// effect for one that was recognized. If wait isn't 0, nothing was done, because the model or this process is busy: try again after that
// time. If the model refuses the utterance, or last is true and it fails, the utterance is deleted without a line.
func (s *Service) Recognize(ctx context.Context, tenantID, utteranceID string, last bool) (wait time.Duration, err error) {
	if !s.places.Take(tenantID) {
		return busyPause + rand.N(busyPause), nil
	}
	defer s.places.Release(tenantID)
	q := db.New(s.config.Pool)
	found, err := q.GetUtterance(ctx, db.GetUtteranceParams{TenantID: tenantID, ID: utteranceID})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("get utterance: %w", err)
	}
	u := found.Utterance
	row, err := s.config.Sessions.FindSession(ctx, tenantID, u.SessionID)
	if err != nil {
		return 0, err
	}
	wanted, err := s.config.Transcripts.Wants(ctx, q, row, u.UserID, u.StartedAt, u.EndedAt)
	if err != nil {
		return 0, err
	}
	if !wanted || found.TenantStatus == tenancy.Suspended {
		return 0, s.settle(ctx, u, Words{}, "unwanted")
	}
	words, err := s.ask(ctx, u)
	if err != nil {
		return s.fail(ctx, u, err, last || s.waited(u) > maxPatience)
	}
	if words.Text == "" {
		return 0, s.settle(ctx, u, words, "silent")
	}
	return 0, s.settle(ctx, u, words, "recognized")
}

// fail handles an error of the model: it returns when to try again, or deletes the utterance.
func (s *Service) fail(ctx context.Context, u db.Utterance, err error, last bool) (wait time.Duration, _ error) {
	later, busy := errors.AsType[ai.RetryError](err)
	refused, no := errors.AsType[ai.RefusedError](err)
	switch {
	case no || errors.Is(err, utterance.ErrSound):
		s.config.Log.Warn("an utterance was refused", "session", u.SessionID, "reason", cmp.Or(refused.Reason, err.Error()))
		return 0, s.settle(ctx, u, Words{}, "refused")
	case busy && !last:
		s.config.Observe("retried")
		return later.After + rand.N(busyPause), nil
	case ctx.Err() != nil: // the server stops
		return 0, err
	case last:
		s.config.Log.Error("an utterance was not recognized, and is missing in its transcript", "session", u.SessionID, "error", err)
		return 0, s.settle(ctx, u, Words{}, "failed")
	}
	s.config.Observe("retried")
	p := db.MarkUtteranceFailedParams{TenantID: u.TenantID, ID: u.ID, Now: s.config.Now()}
	return 0, errors.Join(err, db.New(s.config.Pool).MarkUtteranceFailed(ctx, p))
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
func (s *Service) settle(ctx context.Context, u db.Utterance, words Words, outcome string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		deleted, err := db.New(tx).DeleteUtterance(ctx, db.DeleteUtteranceParams{TenantID: u.TenantID, ID: u.ID})
		if err != nil {
			return fmt.Errorf("delete utterance: %w", err)
		}
		if deleted == 0 || words.Text == "" {
			return nil
		}
		return s.config.Transcripts.KeepSpokenTx(ctx, tx, u.TenantID, u.SessionID, transcript.Spoken{
			UserID: u.UserID, Speaker: u.Speaker, Key: u.Key, Text: words.Text, Language: words.Language,
			StartedAt: u.StartedAt, EndedAt: u.EndedAt,
		})
	})
	if err == nil {
		s.config.Observe(outcome)
	}
	return err
}
