package transcript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

// errFull rolls back a line for which the transcript has no room.
var errFull = errors.New("the transcript is full")

// maxLag is how long ago a participant's words may have been said. Clocks of clients can be wrong.
const maxLag = 5 * time.Minute

// Input is a caption to publish; the handler has checked its limits.
type Input struct {
	// UserID is the speaker. Key is the client's name of the sentence.
	UserID, Key, Text string
	Final             bool
	Language          *string
	// StartedAt and EndedAt are when the sentence was said; nil means now.
	StartedAt, EndedAt *time.Time
}

// Caption is a sentence that was said, as participants get it: the document's Caption.
type Caption struct {
	SessionID string `json:"sessionId"`
	Key       string `json:"key"`
	UserID    string `json:"userId"`
	Speaker   string `json:"speaker"`
	Text      string `json:"text"`
	Final     bool   `json:"final"`
	// Kept: it is a line of the transcript.
	Kept      bool           `json:"kept"`
	Language  *string        `json:"language"`
	StartedAt timestamp.Time `json:"startedAt"`
	EndedAt   timestamp.Time `json:"endedAt"`
}

// PublishCaption shows a caption to the participants. A final one of a session with transcription becomes a line of the transcript
// first, unless the transcript is full; if the speaker has a line with this key, PublishCaption returns that line and shows nothing.
func (s *Service) PublishCaption(ctx context.Context, c tenancy.Caller, sessionID string, in Input) (shown Caption, err error) {
	row, speaker, err := s.config.Sessions.GetSpeaker(ctx, db.New(s.config.Pool), c, sessionID, in.UserID)
	if err != nil {
		return shown, err
	}
	if c.Participant != nil {
		if err := s.checkParticipant(ctx, row, in.UserID); err != nil {
			return shown, err
		}
	}
	shown = s.caption(c, row, speaker, in)
	if !in.Final || !row.TranscriptionEnabled {
		s.publish(ctx, shown)
		return shown, nil
	}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		line, added, err := s.store(ctx, tx, row.TenantID, shown, FromCaption)
		if err != nil {
			return err
		}
		if !added {
			shown = captionOf(line)
			return nil
		}
		shown.Kept = true
		postgres.AfterCommit(tx, func() { s.publish(ctx, shown) })
		return nil
	})
	if errors.Is(err, errFull) {
		shown.Kept, err = false, nil
		s.publish(ctx, shown)
	}
	return shown, err
}

// checkParticipant refuses a participant that a moderator doesn't let write in the chat, and one that publishes too often.
func (s *Service) checkParticipant(ctx context.Context, row db.Session, userID string) error {
	if r := s.paces.Take(ratelimit.Bucket{Policy: pace(), Subject: row.ID + " " + userID})[0]; !r.Allowed {
		return problem.Limited(r.RetryAfter, "too many captions: %s for each participant", pace().Rate)
	}
	return s.config.Chat.CheckWriter(ctx, row.TenantID, row.ID, userID)
}

// caption is the input as the participants get it. Its times are within the session and not in the future.
func (s *Service) caption(c tenancy.Caller, row db.Session, speaker db.Participant, in Input) Caption {
	now := s.config.Now()
	earliest := session.Beginning(row)
	if limit := now.Add(-maxLag); c.Participant != nil && earliest.Before(limit) {
		earliest = limit
	}
	ended := within(cmp.Or(in.EndedAt, &now), earliest, now)
	started := within(cmp.Or(in.StartedAt, &ended), earliest, ended)
	return Caption{
		SessionID: row.ID, Key: in.Key, UserID: speaker.UserID, Speaker: nameOf(speaker), Text: in.Text, Final: in.Final, Language: in.Language,
		StartedAt: timestamp.From(started), EndedAt: timestamp.From(ended),
	}
}

func within(at *time.Time, first, last time.Time) time.Time {
	switch {
	case at.Before(first):
		return first
	case at.After(last):
		return last
	}
	return *at
}

func nameOf(p db.Participant) string {
	if p.DisplayName != nil && *p.DisplayName != "" {
		return *p.DisplayName
	}
	return p.UserID
}

// store adds a line to the transcript, or returns the one that the speaker has with this key.
func (s *Service) store(
	ctx context.Context, tx pgx.Tx, tenantID string, c Caption, source string,
) (line db.TranscriptLine, added bool, err error) {
	q := db.New(tx)
	line, err = q.CreateTranscriptLine(ctx, db.CreateTranscriptLineParams{
		ID: id.At(id.Line, c.StartedAt.Time), TenantID: tenantID, SessionID: c.SessionID, UserID: c.UserID, Speaker: c.Speaker, Body: c.Text,
		Language: c.Language, Key: c.Key, Source: source, StartedAt: c.StartedAt.Time, EndedAt: c.EndedAt.Time, Now: s.config.Now(),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		line, err = q.GetTranscriptLineByKey(ctx, db.GetTranscriptLineByKeyParams{
			TenantID: tenantID, SessionID: c.SessionID, UserID: c.UserID, Key: c.Key,
		})
		if err != nil {
			return line, false, fmt.Errorf("get transcript line: %w", err)
		}
		return line, false, nil
	}
	if err != nil {
		return line, false, fmt.Errorf("create transcript line: %w", err)
	}
	// The speaker's first, so that all transactions lock the rows in one order.
	for _, of := range []struct {
		user string
		most int32
	}{{c.UserID, speakerLines}, {"", maxLines}} {
		counted, err := q.CountTranscriptLine(ctx, db.CountTranscriptLineParams{
			SessionID: c.SessionID, UserID: of.user, TenantID: tenantID, Most: of.most,
		})
		if err != nil {
			return line, false, fmt.Errorf("count transcript line: %w", err)
		}
		if counted == 0 {
			return line, false, errFull
		}
	}
	return line, true, nil
}

func captionOf(l db.TranscriptLine) Caption {
	return Caption{
		SessionID: l.SessionID, Key: l.Key, UserID: l.UserID, Speaker: l.Speaker, Text: l.Body, Final: true, Kept: true, Language: l.Language,
		StartedAt: timestamp.From(l.StartedAt), EndedAt: timestamp.From(l.EndedAt),
	}
}

func (s *Service) publish(ctx context.Context, c Caption) {
	s.config.Realtime.Publish(ctx, realtime.Publication{Room: c.SessionID, Type: realtime.SessionCaption, Data: c})
}
