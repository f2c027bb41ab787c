package summary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
	"showfloor/internal/rooms/summary/extractive"
)

const (
	// chunkBytes is how much text the model gets at a time: some 15,000 tokens, which is an hour of talk.
	chunkBytes = 60_000
	// wholePart is the number of the summary of the whole in summary_parts.
	wholePart = -1
)

// WriteSummary writes the summary of an ended session, and sends session.summary.ready. It has no effect for a session that has a summary
// or doesn't exist any more. If wait isn't 0, nothing was done, because too many summaries of the tenant are being written: try again
// after that time. An answer of the model is stored as soon as it arrives, so that another call doesn't ask for it again. If last is
// true, or the model refuses the text, the summary is extractive.
func (s *Service) WriteSummary(ctx context.Context, tenantID, sessionID string, last bool) (wait time.Duration, err error) {
	if !s.places.Take(tenantID) {
		return busyPause, nil
	}
	defer s.places.Release(tenantID)
	row, err := s.config.Sessions.FindSession(ctx, tenantID, sessionID)
	if problem.Is(err, "not_found") {
		return 0, nil
	}
	if err != nil || !session.AwaitsSummary(row) {
		return 0, err
	}
	c, err := s.read(ctx, row)
	if err != nil {
		return 0, err
	}
	text, engine := extract(c), session.Extractive
	if s.config.Model != nil && !last && len(c.lines) > 0 {
		var refused RefusedError
		switch answer, err := s.ask(ctx, row, c); {
		case errors.As(err, &refused):
			s.config.Log.Warn("the language model refused a session; its summary is extractive", "session", sessionID, "reason", refused.Reason)
		case err != nil:
			return 0, err
		default:
			text, engine = answer, session.Model
		}
	}
	return 0, s.config.Sessions.SaveSummary(ctx, tenantID, sessionID, text, engine, func(tx pgx.Tx) error {
		return db.New(tx).DeleteSummaryParts(ctx, db.DeleteSummaryPartsParams{TenantID: tenantID, SessionID: sessionID})
	})
}

// extract returns the extractive summary. If there is too little text, it says so.
func extract(c conversation) session.SummaryText {
	d := extractive.Summarize(c.lines)
	if d.Short == "" {
		d.Short = fmt.Sprintf("There is too little text for a summary: the transcript has %s and the chat has %s.",
			count(c.spoken, "line"), count(c.written, "message"))
	}
	return session.SummaryText{
		TLDR: d.Short, Highlights: listed(d.Highlights), ActionItems: listed(d.Tasks), Decisions: listed(d.Decisions),
	}
}

// count is a number with its noun: "no lines", "1 line", "2 lines".
func count(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// listed is a list that JSON encodes as an array even if it is empty.
func listed(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// ask returns the model's summary. The summary of a long conversation is that of its parts' summaries.
func (s *Service) ask(ctx context.Context, row db.Session, c conversation) (session.SummaryText, error) {
	answers, err := s.answered(ctx, row)
	if err != nil {
		return session.SummaryText{}, err
	}
	chunks := c.chunks(chunkBytes)
	if len(chunks) == 1 {
		return s.askOnce(ctx, row, answers, wholePart, Record, chunks[0])
	}
	var partials strings.Builder
	for i, chunk := range chunks {
		answer, err := s.askOnce(ctx, row, answers, i, Record, chunk)
		if err != nil {
			return answer, err
		}
		line, err := json.Marshal(answer)
		if err != nil {
			return answer, fmt.Errorf("encode partial summary: %w", err)
		}
		partials.Write(append(line, '\n'))
	}
	return s.askOnce(ctx, row, answers, wholePart, Partials, partials.String())
}

// answered returns the stored answers by part.
func (s *Service) answered(ctx context.Context, row db.Session) (map[int]session.SummaryText, error) {
	rows, err := db.New(s.config.Pool).ListSummaryParts(ctx, db.ListSummaryPartsParams{TenantID: row.TenantID, SessionID: row.ID})
	if err != nil {
		return nil, fmt.Errorf("list summary parts: %w", err)
	}
	answers := make(map[int]session.SummaryText, len(rows))
	for _, r := range rows {
		var text session.SummaryText
		if err := json.Unmarshal(r.Answer, &text); err != nil {
			return nil, fmt.Errorf("read summary part %d of %s: %w", r.Part, row.ID, err)
		}
		answers[int(r.Part)] = text
	}
	return answers, nil
}

// askOnce returns the stored answer for a part, or asks the model and stores its answer. An answer that was paid for is stored even if
// ctx has ended.
func (s *Service) askOnce(
	ctx context.Context, row db.Session, answers map[int]session.SummaryText, part int, kind TextKind, text string,
) (session.SummaryText, error) {
	if answer, has := answers[part]; has {
		return answer, nil
	}
	answer, err := s.config.Model.Summarize(ctx, kind, text)
	if err != nil {
		return answer, fmt.Errorf("ask the language model: %w", err)
	}
	encoded, err := json.Marshal(answer)
	if err != nil {
		return answer, fmt.Errorf("encode summary part: %w", err)
	}
	err = db.New(s.config.Pool).SaveSummaryPart(context.WithoutCancel(ctx), db.SaveSummaryPartParams{
		SessionID: row.ID, TenantID: row.TenantID, Part: int32(part), Answer: encoded, Now: s.config.Now(),
	})
	if err != nil {
		return answer, fmt.Errorf("save summary part: %w", err)
	}
	return answer, nil
}

var _ session.Dependent = (*Service)(nil)

// EmptySessions implements session.Dependent. A session has few parts, so that none are deleted ahead.
func (*Service) EmptySessions(context.Context, []string) error { return nil }

// DeleteOfSessionsTx implements session.Dependent.
func (*Service) DeleteOfSessionsTx(ctx context.Context, tx pgx.Tx, ids []string) error {
	if err := db.New(tx).DeleteSummaryPartsOfSessions(ctx, ids); err != nil {
		return fmt.Errorf("delete summary parts of sessions: %w", err)
	}
	return nil
}
