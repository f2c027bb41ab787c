package transcript

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/rooms/session"
)

// Sources of lines.
const (
	// FromCaption is a caption that a client or the tenant's server published.
	FromCaption = "caption"
	// FromSpeech is what the speech recognition wrote.
	FromSpeech = "speech"
)

const (
	// freshFor is how long after its words a recognised line is also shown as a caption.
	freshFor = time.Minute
	// captionsNear is how near to an utterance a caption of its speaker must be, so that the speaker's client counts as one that
	// recognizes speech itself.
	captionsNear = 20 * time.Second
)

// Spoken holds recognized words. Speaker is the user's name when they were said.
type Spoken struct {
	UserID, Speaker    string
	Key, Text          string
	Language           *string
	StartedAt, EndedAt time.Time
}

// Wants reports whether recognised words of a speaker become a line: transcription is on, the transcript has space, and the speaker's
// client doesn't publish captions itself at that time.
func (s *Service) Wants(
	ctx context.Context, q *db.Queries, row db.Session, userID string, startedAt, endedAt time.Time,
) (bool, error) {
	if !row.TranscriptionEnabled {
		return false, nil
	}
	space, err := q.HasTranscriptSpace(ctx, db.HasTranscriptSpaceParams{
		TenantID: row.TenantID, SessionID: row.ID, UserID: userID, SessionMost: maxLines, SpeakerMost: speakerLines,
	})
	if err != nil {
		return false, fmt.Errorf("look for space in a transcript: %w", err)
	}
	if !space {
		return false, nil
	}
	captions, err := q.HasCaptions(ctx, db.HasCaptionsParams{
		TenantID: row.TenantID, SessionID: row.ID, UserID: userID, Since: startedAt.Add(-captionsNear), Until: endedAt.Add(captionsNear),
	})
	if err != nil {
		return false, fmt.Errorf("look for captions: %w", err)
	}
	return !captions, nil
}

// KeepSpokenTx adds recognized words to the transcript, and shows them as a caption if they are fresh. It has no effect if the session
// doesn't want them (see Wants) at this time, or the speaker has a line with this key.
func (s *Service) KeepSpokenTx(ctx context.Context, tx pgx.Tx, tenantID, sessionID string, in Spoken) error {
	q := db.New(tx)
	row, err := session.FindTx(ctx, tx, tenantID, sessionID)
	if err != nil {
		return err
	}
	if wanted, err := s.Wants(ctx, q, row, in.UserID, in.StartedAt, in.EndedAt); err != nil || !wanted {
		return err
	}
	now := s.config.Now()
	began := session.Beginning(row)
	ended := within(&in.EndedAt, began, now)
	c := Caption{
		SessionID: row.ID, Key: in.Key, UserID: in.UserID, Speaker: in.Speaker, Text: in.Text, Final: true, Kept: true,
		Language:  in.Language,
		StartedAt: timestamp.From(within(&in.StartedAt, began, ended)), EndedAt: timestamp.From(ended),
	}
	added := false
	err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) (err error) {
		_, added, err = s.store(ctx, tx, row.TenantID, c, FromSpeech)
		return err
	})
	if errors.Is(err, errFull) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep recognized words: %w", err)
	}
	if added && now.Sub(ended) <= freshFor {
		postgres.AfterCommit(tx, func() { s.publish(ctx, c) })
	}
	return nil
}
