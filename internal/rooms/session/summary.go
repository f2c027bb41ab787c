package session

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/queue"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
)

// SummaryText holds the parts of a summary.
type SummaryText struct {
	TLDR        string   `json:"tldr"`
	Highlights  []string `json:"highlights"`
	ActionItems []string `json:"actionItems"`
	Decisions   []string `json:"decisions"`
}

// Engines of summaries.
const (
	// Extractive quotes the most important sentences.
	Extractive = "extractive"
	// Model is a language model.
	Model = "model"
)

// SummaryQueue is the queue of SummarizeArgs.
const SummaryQueue = "summaries"

const (
	// SummaryModelAttempts is how many attempts to write a summary ask the language model. The later ones do without.
	SummaryModelAttempts = 4
	summaryAttempts      = 8
)

const (
	// summaryDelay is the time from a session's end to its summary. Captions and messages that were being written at the end are
	// stored meanwhile.
	summaryDelay = 10 * time.Second
	// overdueSummary is how long after the end a summary without a job gets one; oldestSummary is the latest time for that.
	overdueSummary = 2 * time.Minute
	oldestSummary  = 24 * time.Hour
	// overdueSummariesAtOnce is how many sessions EnqueueSummaries reads at a time.
	overdueSummariesAtOnce = 1000
)

// SummarizeArgs is the job that writes the summary of an ended session.
type SummarizeArgs struct {
	TenantID  string `json:"tenantId"`
	SessionID string `json:"sessionId"`
}

// Kind is the job's name.
func (SummarizeArgs) Kind() string { return "session_summarize" }

// InsertOpts selects the queue. A session has at most one unfinished job.
func (SummarizeArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: SummaryQueue, MaxAttempts: summaryAttempts, UniqueOpts: queue.Unfinished()}
}

// Summary is the written summary of a session's conversation.
type Summary struct {
	// At and Text are nil until the summary is written.
	At   *time.Time
	Text *SummaryText
	// Engine is Extractive or Model; empty until the summary is written.
	Engine string
	// Sources are the texts that it was written from: speech, caption and chat.
	Sources []string
}

// GetSessionSummary returns a session's summary; its fields are nil if there is none.
func (s *Service) GetSessionSummary(ctx context.Context, c tenancy.Caller, sessionID string) (Summary, error) {
	row, err := get(ctx, db.New(s.config.Pool), c.TenantID, sessionID)
	if err != nil {
		return Summary{}, err
	}
	if row.SummaryAt == nil || row.Summary == nil || row.SummaryEngine == nil {
		return Summary{}, nil
	}
	sum := Summary{At: row.SummaryAt, Text: &SummaryText{}, Engine: *row.SummaryEngine, Sources: row.SummarySources}
	if err := json.Unmarshal(row.Summary, sum.Text); err != nil {
		return Summary{}, fmt.Errorf("read the summary of %s: %w", sessionID, err)
	}
	return sum, nil
}

// AwaitsSummary reports whether a session has ended without a summary, and should get one.
func AwaitsSummary(row db.Session) bool {
	return row.TranscriptionEnabled && row.State == Ended && row.SummaryAt == nil
}

// scheduleSummary adds the job that writes the summary of a session that ends, if it should get one.
func (s *Service) scheduleSummary(ctx context.Context, tx pgx.Tx, row db.Session) error {
	if !AwaitsSummary(row) {
		return nil
	}
	return s.insertSummaries(ctx, tx, []SummarizeArgs{{row.TenantID, row.ID}}, s.config.Now().Add(summaryDelay))
}

func (s *Service) insertSummaries(ctx context.Context, tx pgx.Tx, list []SummarizeArgs, at time.Time) error {
	params := make([]river.InsertManyParams, len(list))
	for i, args := range list {
		params[i] = river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{ScheduledAt: at}}
	}
	if _, err := s.config.Jobs.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("insert jobs that write summaries: %w", err)
	}
	return nil
}

// SaveSummary stores the summary of an ended session, without its time, and sends session.summary.ready. It has no effect if the session
// has a summary. cleanUp runs in the same transaction.
func (s *Service) SaveSummary(
	ctx context.Context, tenantID, sessionID string, sum Summary, cleanUp func(tx pgx.Tx) error,
) error {
	text := sum.Text
	encoded, err := json.Marshal(text)
	if err != nil {
		return fmt.Errorf("encode summary: %w", err)
	}
	release, err := s.rooms.Take(ctx, sessionID)
	if err != nil {
		return err
	}
	defer release()
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		row, err := LockTx(ctx, tx, tenantID, sessionID)
		if err != nil {
			return err
		}
		if !AwaitsSummary(row) {
			return nil
		}
		if err := db.New(tx).SaveSummary(ctx, db.SaveSummaryParams{
			TenantID: tenantID, ID: sessionID, Summary: encoded, Engine: &sum.Engine, Sources: sum.Sources, Now: s.config.Now(),
		}); err != nil {
			return fmt.Errorf("save summary: %w", err)
		}
		if err := cleanUp(tx); err != nil {
			return err
		}
		a := &announcements{}
		a.add(row, event.SessionSummaryReady, eventdata.SessionSummaryReadyData{SessionID: row.ID, Summary: eventdata.SummaryText{
			Tldr: text.TLDR, Highlights: text.Highlights, ActionItems: text.ActionItems, Decisions: text.Decisions,
		}})
		return s.announce(ctx, tx, a)
	})
}

// EnqueueSummaries adds a job for each session that ended some minutes ago without a summary and without a job: a job is lost if its
// attempts are used up.
func (s *Service) EnqueueSummaries(ctx context.Context) error {
	now := s.config.Now()
	p := db.ListOverdueSummariesParams{
		Since: now.Add(-oldestSummary), Before: now.Add(-overdueSummary), MaxRows: overdueSummariesAtOnce,
	}
	for {
		rows, err := db.New(s.config.Pool).ListOverdueSummaries(ctx, p)
		if err != nil {
			return fmt.Errorf("list overdue summaries: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		list := make([]SummarizeArgs, len(rows))
		for i, row := range rows {
			list[i] = SummarizeArgs{row.TenantID, row.ID}
		}
		err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error { return s.insertSummaries(ctx, tx, list, now) })
		if err != nil {
			return err
		}
		p.After = rows[len(rows)-1].ID
	}
}
