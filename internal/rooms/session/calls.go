package session

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
)

// CallInvited is the data of call.invited.
func CallInvited(s db.Session, c db.Call) eventdata.CallInvitedData {
	return eventdata.CallInvitedData{CallEventData: callDataOf(s, c)}
}

// callDataOf converts a call for events, with its session's metadata.
func callDataOf(s db.Session, c db.Call) eventdata.CallEventData {
	return eventdata.CallEventData{
		SessionID: s.ID, State: eventdata.SessionState(s.State), Kind: eventdata.CallKind(c.Kind), FromUserID: c.FromUserID,
		FromDisplayName: c.FromDisplayName,
		ToUserID:        c.ToUserID, ProjectID: s.ProjectID, RingExpiresAt: timestamp.From(c.RingExpiresAt),
		StartedAt: timestamp.Optional(s.StartedAt), EndedAt: timestamp.Optional(s.EndedAt), Metadata: s.Metadata,
	}
}

// endCall records how a session's call ended, and adds the event for it to a.
func (s *Service) endCall(ctx context.Context, tx pgx.Tx, row db.Session, e Ending, a *announcements) error {
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
		a.add(row, event.CallEnded, eventdata.CallEndedData{CallEventData: callDataOf(row, c), EndedBy: by, DurationSec: duration(row)})
	case *p.CancelledAs == Declined:
		a.add(row, event.CallDeclined, eventdata.CallDeclinedData{CallEventData: callDataOf(row, c)})
	}
	if p.CancelledAs == nil || s.config.Calls == nil {
		return nil
	}
	return s.config.Calls.RingingOverTx(ctx, tx, row, c, *p.CancelledAs)
}
