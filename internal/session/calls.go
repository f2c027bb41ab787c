package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/event"
	"showfloor/internal/timestamp"
)

// CallData is a call in the data of events.
type CallData struct {
	SessionID       string          `json:"sessionId"`
	State           string          `json:"state"`
	Kind            string          `json:"kind"`
	FromUserID      string          `json:"fromUserId"`
	FromDisplayName *string         `json:"fromDisplayName"`
	ToUserID        string          `json:"toUserId"`
	ProjectID       *string         `json:"projectId"`
	RingExpiresAt   timestamp.Time  `json:"ringExpiresAt"`
	StartedAt       *timestamp.Time `json:"startedAt"`
	EndedAt         *timestamp.Time `json:"endedAt"`
	// Metadata is the session's.
	Metadata json.RawMessage `json:"metadata"`
}

// CallDataOf converts a call for events.
func CallDataOf(s db.Session, c db.Call) CallData {
	return CallData{
		SessionID: s.ID, State: s.State, Kind: c.Kind, FromUserID: c.FromUserID, FromDisplayName: c.FromDisplayName,
		ToUserID: c.ToUserID, ProjectID: s.ProjectID, RingExpiresAt: timestamp.From(c.RingExpiresAt),
		StartedAt: timestamp.Optional(s.StartedAt), EndedAt: timestamp.Optional(s.EndedAt), Metadata: s.Metadata,
	}
}

// callEndedData is the data of call.ended.
type callEndedData struct {
	CallData

	EndedBy     string  `json:"endedBy"`
	DurationSec float64 `json:"durationSec"`
}

// endCall records how a session's call ended, and adds the event for it to t.
func (s *Service) endCall(ctx context.Context, tx pgx.Tx, row db.Session, e Ending, t *told) error {
	p := db.EndCallParams{TenantID: row.TenantID, SessionID: row.ID, EndedBy: e.By}
	if row.State == Cancelled {
		as := e.CancelledAs
		if as == "" {
			as = TakenBack
		}
		p.CancelledAs = &as
	}
	c, err := db.New(tx).EndCall(ctx, p)
	if err != nil {
		return fmt.Errorf("end call: %w", err)
	}
	switch {
	case row.State == Ended:
		by := row.HostID // if the server ended the call: call.ended must name one of the two parties
		if e.By != nil {
			by = *e.By
		}
		t.add(row, event.CallEnded, callEndedData{CallDataOf(row, c), by, duration(row)})
	case *p.CancelledAs == Declined:
		t.add(row, event.CallDeclined, CallDataOf(row, c))
	}
	return nil
}
