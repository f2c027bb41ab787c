package session

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
)

// Ending says how a session ends.
type Ending struct {
	// By is the user who ended it; nil if the tenant's server or our own did.
	By *string
	// CancelledAs is why a call stopped ringing: Declined, TakenBack or Missed. Empty
	// means TakenBack.
	CancelledAs string
}

// Why a call was cancelled.
const (
	Declined  = "declined"
	TakenBack = "taken_back"
	Missed    = "missed"
)

// EndSession ends a session with its breakout rooms. A ringing call is cancelled
// as TakenBack. A session that has ended already stays as it is.
func (s *Service) EndSession(ctx context.Context, c tenancy.Caller, sessionID string) (row db.Session, err error) {
	err = s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, a *announcements, locked db.Session) error {
		if row = locked; over(row.State) {
			return nil
		}
		before := row.State
		if row, err = s.end(ctx, tx, row, Ending{By: By(c)}, a); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, "session.end", row.ID, map[string]any{"state": before}, map[string]any{"state": row.State})
	})
	return row, err
}

// EndTx ends a locked, open session and its breakout rooms, in the caller's
// transaction. It emits session.ended; also call.ended for a live call and
// call.declined for a declined one. It publishes the changes in the rooms once tx is
// committed.
func (s *Service) EndTx(ctx context.Context, tx pgx.Tx, row db.Session, e Ending) (ended db.Session, err error) {
	a := &announcements{}
	if ended, err = s.end(ctx, tx, row, e, a); err != nil {
		return ended, err
	}
	return ended, s.announce(ctx, tx, a)
}

// StopTenantTx ends every open session of the tenant, in the caller's transaction,
// and disconnects the participants of its streams' rooms. Ringing calls are
// cancelled. The caller holds a lock on the tenant.
func (s *Service) StopTenantTx(ctx context.Context, tx pgx.Tx, tenantID string) error {
	ids, err := db.New(tx).ListOpenSessions(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("list open sessions: %w", err)
	}
	for _, sessionID := range ids {
		row, err := LockTx(ctx, tx, tenantID, sessionID)
		if err != nil {
			return err
		}
		if over(row.State) {
			continue
		}
		a := &announcements{}
		if _, err := s.end(ctx, tx, row, Ending{}, a); err != nil {
			return err
		}
		if err := s.config.Events.EmitManyTx(ctx, tx, a.events); err != nil { // nothing is published: the nodes disconnect all participants
			return err
		}
	}
	rooms, err := db.New(tx).ListPlacedStreamRooms(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("list streams' rooms: %w", err)
	}
	for _, roomID := range rooms {
		if err := ChangedTx(ctx, tx, roomID, ""); err != nil {
			return err
		}
	}
	return nil
}

// end is EndTx, except that it adds the events to a instead of emitting them.
func (s *Service) end(ctx context.Context, tx pgx.Tx, row db.Session, e Ending, a *announcements) (db.Session, error) {
	if _, err := s.closeBreakouts(ctx, tx, a, row, e.By); err != nil {
		return row, err
	}
	now, rang := s.config.Now(), row.State == Ringing
	row.State, row.EndedAt, row.UpdatedAt = Ended, &now, now
	if rang {
		row.State = Cancelled
	}
	if err := s.endRecording(ctx, tx, &row); err != nil {
		return row, err
	}
	if err := s.endBroadcast(ctx, tx, a, row, BroadcastSessionEnded); err != nil {
		return row, err
	}
	row.Seats, row.Present, row.SpotlightUserID = 0, 0, nil
	if row.Type == Call {
		if err := s.endCall(ctx, tx, row, e, a); err != nil {
			return row, err
		}
	}
	if row.State == Ended {
		a.addSession(row, event.SessionEnded, func(d eventdata.SessionEventData) any {
			return eventdata.SessionEndedData{SessionEventData: d, DurationSec: duration(row)}
		})
	}
	q := db.New(tx)
	if err := q.EmptyRoom(ctx, db.EmptyRoomParams{TenantID: row.TenantID, RoomID: row.ID, Now: now}); err != nil {
		return row, fmt.Errorf("empty room: %w", err)
	}
	if err := q.DeletePlacement(ctx, db.DeletePlacementParams{TenantID: row.TenantID, RoomID: row.ID}); err != nil {
		return row, fmt.Errorf("delete placement: %w", err)
	}
	if err := ChangedTx(ctx, tx, row.ID, ""); err != nil {
		return row, err
	}
	if err := s.scheduleSummary(ctx, tx, row); err != nil {
		return row, err
	}
	return row, saveSession(ctx, tx, row)
}

// closeBreakouts ends the open breakout rooms of a locked session, and adds
// session.breakouts.closed to a if there were any.
func (s *Service) closeBreakouts(ctx context.Context, tx pgx.Tx, a *announcements, parent db.Session, by *string) (closed int, err error) {
	open, err := lockOpenBreakouts(ctx, tx, parent)
	if err != nil {
		return 0, err
	}
	return len(open), s.endBreakouts(ctx, tx, a, parent, open, by)
}

// endBreakouts ends these locked breakout rooms of a locked session, and adds
// session.breakouts.closed to a if there are any.
func (s *Service) endBreakouts(ctx context.Context, tx pgx.Tx, a *announcements, parent db.Session, rooms []db.Session, by *string) error {
	all := eventdata.SessionBreakoutsClosedData{SessionID: parent.ID, Closed: int32(len(rooms)), By: by}
	for _, room := range rooms {
		if _, err := s.end(ctx, tx, room, Ending{}, a); err != nil {
			return err
		}
		all.BreakoutIds = append(all.BreakoutIds, room.ID)
	}
	if len(rooms) > 0 {
		a.add(parent, event.SessionBreakoutsClosed, all)
	}
	return nil
}

// duration is how long a session was live, in seconds with a precision of 1 ms.
func duration(s db.Session) float64 {
	if s.StartedAt == nil || s.EndedAt == nil {
		return 0
	}
	return max(s.EndedAt.Truncate(time.Millisecond).Sub(s.StartedAt.Truncate(time.Millisecond)).Seconds(), 0)
}
