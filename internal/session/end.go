package session

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/event"
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

// endedData is the data of session.ended.
type endedData struct {
	Data

	DurationSec float64 `json:"durationSec"`
}

// breakoutsClosedData is the data of session.breakouts.closed.
type breakoutsClosedData struct {
	SessionID   string   `json:"sessionId"`
	Closed      int      `json:"closed"`
	BreakoutIDs []string `json:"breakoutIds"`
	By          *string  `json:"by"`
}

// EndSession ends a session with its breakout rooms. A ringing call is cancelled
// as TakenBack. A session that has ended already stays as it is.
func (s *Service) EndSession(ctx context.Context, c account.Caller, sessionID string) (row db.Session, err error) {
	err = s.change(ctx, c, sessionID, func(tx pgx.Tx, t *told) error {
		if row, err = s.lockFor(ctx, tx, c, sessionID, hosting); err != nil || over(row.State) {
			return err
		}
		before := row.State
		if row, err = s.end(ctx, tx, row, Ending{By: By(c)}, t); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, "session.end", row.ID, map[string]any{"state": before}, map[string]any{"state": row.State})
	})
	return row, err
}

// End ends a locked, open session and its breakout rooms, in the caller's
// transaction. It emits session.ended; also call.ended for a live call and
// call.declined for a declined one. Call tell after the commit: it publishes the
// changes in the rooms.
func (s *Service) End(ctx context.Context, tx pgx.Tx, row db.Session, e Ending) (ended db.Session, tell func(context.Context), err error) {
	t := &told{}
	if ended, err = s.end(ctx, tx, row, e, t); err != nil {
		return ended, nil, err
	}
	return ended, func(ctx context.Context) { s.publish(ctx, t) }, s.emit(ctx, tx, t)
}

// StopTenant ends every open session of the tenant, in the caller's transaction,
// and disconnects the participants of its streams' rooms. Ringing calls are
// cancelled. The caller holds a lock on the tenant.
func (s *Service) StopTenant(ctx context.Context, tx pgx.Tx, tenantID string) error {
	ids, err := db.New(tx).ListOpenSessions(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("list open sessions: %w", err)
	}
	for _, sessionID := range ids {
		row, err := Lock(ctx, tx, tenantID, sessionID)
		if err != nil {
			return err
		}
		if over(row.State) {
			continue
		}
		if _, _, err := s.End(ctx, tx, row, Ending{}); err != nil {
			return err
		}
	}
	rooms, err := db.New(tx).ListPlacedStreamRooms(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("list streams' rooms: %w", err)
	}
	for _, roomID := range rooms {
		if err := Changed(ctx, tx, roomID, ""); err != nil {
			return err
		}
	}
	return nil
}

// end is End, except that it adds the events to t instead of emitting them.
func (s *Service) end(ctx context.Context, tx pgx.Tx, row db.Session, e Ending, t *told) (db.Session, error) {
	if _, err := s.closeBreakouts(ctx, tx, t, row, e.By); err != nil {
		return row, err
	}
	now, rang := s.config.Now(), row.State == Ringing
	row.State, row.EndedAt, row.UpdatedAt = Ended, &now, now
	if rang {
		row.State = Cancelled
	}
	row.Seats, row.Present, row.SpotlightUserID = 0, 0, nil
	if row.Type == Call {
		if err := s.endCall(ctx, tx, row, e, t); err != nil {
			return row, err
		}
	}
	if row.State == Ended {
		t.addSession(row, event.SessionEnded, func(d Data) any { return endedData{d, duration(row)} })
	}
	q := db.New(tx)
	if err := q.EmptyRoom(ctx, db.EmptyRoomParams{TenantID: row.TenantID, RoomID: row.ID, Now: now}); err != nil {
		return row, fmt.Errorf("empty room: %w", err)
	}
	if err := q.DeletePlacement(ctx, db.DeletePlacementParams{TenantID: row.TenantID, RoomID: row.ID}); err != nil {
		return row, fmt.Errorf("delete placement: %w", err)
	}
	if err := Changed(ctx, tx, row.ID, ""); err != nil {
		return row, err
	}
	return row, saveSession(ctx, tx, row)
}

// closeBreakouts ends the open breakout rooms of a locked session, and adds
// session.breakouts.closed to t if there were any.
func (s *Service) closeBreakouts(ctx context.Context, tx pgx.Tx, t *told, parent db.Session, by *string) (closed int, err error) {
	open, err := lockOpenBreakouts(ctx, tx, parent)
	if err != nil {
		return 0, err
	}
	all := breakoutsClosedData{SessionID: parent.ID, Closed: len(open), By: by}
	for _, room := range open {
		if _, err := s.end(ctx, tx, room, Ending{}, t); err != nil {
			return 0, err
		}
		all.BreakoutIDs = append(all.BreakoutIDs, room.ID)
	}
	if len(open) > 0 {
		t.add(parent, event.SessionBreakoutsClosed, all)
	}
	return len(open), nil
}

// duration is how long a session was live, in seconds with a precision of 1 ms.
func duration(s db.Session) float64 {
	if s.StartedAt == nil || s.EndedAt == nil {
		return 0
	}
	return max(s.EndedAt.Truncate(time.Millisecond).Sub(s.StartedAt.Truncate(time.Millisecond)).Seconds(), 0)
}
