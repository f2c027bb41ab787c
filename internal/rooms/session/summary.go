package session

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
)

// SummaryText holds the parts of a summary.
type SummaryText struct {
	TLDR        string   `json:"tldr"`
	Highlights  []string `json:"highlights"`
	ActionItems []string `json:"actionItems"`
	Decisions   []string `json:"decisions"`
}

// Summary is the written summary of a session's conversation.
type Summary struct {
	// At and Text are nil until the summary is written.
	At   *time.Time
	Text *SummaryText
}

// GetSessionSummary returns a session's summary; both fields are nil if there is
// none.
func (s *Service) GetSessionSummary(ctx context.Context, c tenancy.Caller, sessionID string) (Summary, error) {
	row, err := get(ctx, db.New(s.config.Pool), c.TenantID, sessionID)
	if err != nil {
		return Summary{}, err
	}
	if row.SummaryAt == nil || row.Summary == nil {
		return Summary{}, nil
	}
	sum := Summary{At: row.SummaryAt, Text: &SummaryText{}}
	if err := json.Unmarshal(row.Summary, sum.Text); err != nil {
		return Summary{}, fmt.Errorf("read the summary of %s: %w", sessionID, err)
	}
	return sum, nil
}
