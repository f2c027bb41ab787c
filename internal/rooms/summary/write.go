package summary

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/ai"
	"showfloor/internal/rooms/session"
	"showfloor/internal/rooms/summary/extractive"
)

const (
	// chunkBytes is how much text the model gets at a time: some 15,000 tokens, which is an hour of talk.
	chunkBytes = 60_000
	// joined is how many summaries of parts the model joins at a time.
	joined = 6
)

// WriteSummary writes the summary of an ended session, and sends session.summary.ready. It has no effect for a session that has a summary
// or doesn't exist any more. If wait isn't 0, nothing was done, because too many summaries of the tenant are being written, or spoken
// words are still being recognized: try again after that time. An answer of the model is stored as soon as it arrives, so that another
// call doesn't ask for it again. With withoutModel, or if the model refuses the text, the summary is extractive.
func (s *Service) WriteSummary(ctx context.Context, tenantID, sessionID string, withoutModel bool) (wait time.Duration, err error) {
	if !s.places.Take(tenantID) {
		return busyPause + rand.N(busyPause), nil
	}
	defer s.places.Release(tenantID)
	row, err := s.config.Sessions.FindSession(ctx, tenantID, sessionID)
	if problem.Is(err, "not_found") {
		return 0, nil
	}
	if err != nil || !session.AwaitsSummary(row) {
		return 0, err
	}
	if waits, err := s.config.Speech.Awaits(ctx, row); err != nil || waits {
		return speechPause, err
	}
	c, err := s.read(ctx, row)
	if err != nil {
		return 0, err
	}
	text, engine, err := s.summarize(ctx, row, c, withoutModel)
	if err != nil {
		return 0, err
	}
	sum := session.Summary{Text: &text, Engine: engine, Sources: c.sources()}
	return 0, s.config.Sessions.SaveSummary(ctx, tenantID, sessionID, sum, func(tx pgx.Tx) error {
		return db.New(tx).DeleteSummaryParts(ctx, db.DeleteSummaryPartsParams{TenantID: tenantID, SessionID: sessionID})
	})
}

// summarize returns the summary, and the engine that wrote it.
func (s *Service) summarize(ctx context.Context, row db.Session, c conversation, withoutModel bool) (session.SummaryText, string, error) {
	if s.config.Model == nil || withoutModel || len(c.lines) == 0 {
		return extract(c), session.Extractive, nil
	}
	text, err := s.ask(ctx, row, c)
	if refused, is := errors.AsType[ai.RefusedError](err); is {
		s.config.Log.Warn("the language model refused a session; its summary is extractive", "session", row.ID, "reason", refused.Reason)
		return extract(c), session.Extractive, nil
	}
	return text, session.Model, err
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

// ask returns the model's summary. The summary of a long conversation joins those of its parts.
func (s *Service) ask(ctx context.Context, row db.Session, c conversation) (text session.SummaryText, err error) {
	answers, err := s.answered(ctx, row)
	if err != nil {
		return text, err
	}
	texts, kind := c.chunks(chunkBytes), Record
	for {
		var partials []string
		for _, one := range texts {
			if text, err = s.askOnce(ctx, row, answers, kind, one); err != nil {
				return text, err
			}
			line, err := json.Marshal(text)
			if err != nil {
				return text, fmt.Errorf("encode partial summary: %w", err)
			}
			partials = append(partials, string(line))
		}
		if len(partials) == 1 {
			return text, nil
		}
		texts, kind = nil, Partials
		for some := range slices.Chunk(partials, joined) {
			texts = append(texts, strings.Join(some, "\n"))
		}
	}
}

// digest identifies a text that the model was asked about.
func digest(kind TextKind, text string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", kind, text))
	return hex.EncodeToString(sum[:])
}

// answered returns the stored answers by digest.
func (s *Service) answered(ctx context.Context, row db.Session) (map[string]session.SummaryText, error) {
	rows, err := db.New(s.config.Pool).ListSummaryParts(ctx, db.ListSummaryPartsParams{TenantID: row.TenantID, SessionID: row.ID})
	if err != nil {
		return nil, fmt.Errorf("list summary parts: %w", err)
	}
	answers := make(map[string]session.SummaryText, len(rows))
	for _, r := range rows {
		var text session.SummaryText
		if err := json.Unmarshal(r.Answer, &text); err != nil {
			return nil, fmt.Errorf("read a summary part of %s: %w", row.ID, err)
		}
		answers[r.Digest] = text
	}
	return answers, nil
}

// askOnce returns the stored answer for a text, or asks the model and stores its answer. An answer that was paid for is stored even if
// ctx has ended.
func (s *Service) askOnce(
	ctx context.Context, row db.Session, answers map[string]session.SummaryText, kind TextKind, text string,
) (session.SummaryText, error) {
	key := digest(kind, text)
	if answer, has := answers[key]; has {
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
		SessionID: row.ID, TenantID: row.TenantID, Digest: key, Answer: encoded, Now: s.config.Now(),
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
