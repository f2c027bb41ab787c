package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/event"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
)

// Leave removes a user from a room for good: its connection ended and no other
// replaced it in time. It does nothing unless connID is the user's current
// connection, so it may be repeated. A call ends when its last participant leaves.
// When the node shuts down, seats are kept so that participants can reconnect.
func (s *Service) Leave(ctx context.Context, tenantID, roomID, userID, connID string) error {
	// If the connection was replaced, return before taking a lock: a connection id
	// enters only once.
	p, err := db.New(s.config.Pool).GetParticipant(ctx, db.GetParticipantParams{TenantID: tenantID, RoomID: roomID, UserID: userID})
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && (p.ConnID == nil || *p.ConnID != connID):
		return nil
	case err != nil:
		return fmt.Errorf("get participant: %w", err)
	}
	return s.part(ctx, tenantID, roomID, func(ctx context.Context, tx pgx.Tx, row db.Session) ([]db.Participant, error) {
		p, err := LockParticipant(ctx, tx, row, userID)
		switch {
		case problem.Is(err, "not_found"), err == nil && (p.ConnID == nil || *p.ConnID != connID):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []db.Participant{p}, nil
	}, s.mayBeBack())
}

// mayBeBack is the time until which the seats of participants who lose their
// connection now are kept; nil to free the seats at once.
func (s *Service) mayBeBack() *time.Time {
	if !s.retired.Load() {
		return nil
	}
	return new(s.config.Now().Add(resumeFor))
}

// finder locks participants of a locked room and returns them.
type finder func(ctx context.Context, tx pgx.Tx, row db.Session) ([]db.Participant, error)

// part removes the participants that find returns from a room. until is the time
// until which their seats are kept, nil to free the seats at once.
func (s *Service) part(ctx context.Context, tenantID, roomID string, find finder, until *time.Time) error {
	defer s.rooms.Hold(roomID)()
	var t *told
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		t = &told{}
		row := db.Session{TenantID: tenantID, ID: roomID}
		var err error
		if isSession(roomID) {
			if row, err = Lock(ctx, tx, tenantID, roomID); err != nil {
				return err
			}
		}
		list, err := find(ctx, tx, row)
		if err != nil || len(list) == 0 {
			return err
		}
		return s.takeOut(ctx, tx, row, list, until, t)
	})
	if problem.Is(err, "not_found") {
		return nil
	}
	if err == nil {
		s.publish(ctx, t)
	}
	return err
}

// takeOut records that locked participants have left a locked room.
func (s *Service) takeOut(ctx context.Context, tx pgx.Tx, row db.Session, list []db.Participant, until *time.Time, t *told) error {
	now := s.config.Now()
	last := list[len(list)-1].UserID
	for i := range list {
		p := &list[i]
		wasIn := p.State == Joined
		gone(&row, p, now)
		// A participant without a kept seat is unmuted when it comes back.
		p.Muted, p.Silenced = p.Muted && until != nil, p.Silenced && until != nil
		if wasIn && until != nil { // also if the capacity was reduced meanwhile: the seat was its own
			row.Seats++
			p.Seat, p.SeatUntil = seatHeld, until
		}
		if wasIn && row.SpotlightUserID != nil && *row.SpotlightUserID == p.UserID {
			row.SpotlightUserID = nil
			t.add(row, event.SessionSpotlight, SpotlightData{SessionID: row.ID})
			if err := Changed(ctx, tx, row.ID, ""); err != nil {
				return err
			}
		}
	}
	if err := saveParticipants(ctx, tx, now, list...); err != nil {
		return err
	}
	if row.Type == "" {
		return nil // a stream's room
	}
	if row.Type == Call && row.State == Live && row.Present == 0 && until == nil {
		if _, err := s.end(ctx, tx, row, Ending{By: &last}, t); err != nil {
			return err
		}
	} else if err := saveSession(ctx, tx, row); err != nil {
		return err
	}
	return s.emit(ctx, tx, t)
}

// SetMuted records that a participant muted or unmuted its own microphone. It does
// nothing unless connID is the participant's current connection.
func (s *Service) SetMuted(ctx context.Context, tenantID, roomID, userID, connID string, muted bool) error {
	err := db.New(s.config.Pool).SetMuted(ctx, db.SetMutedParams{
		TenantID: tenantID, RoomID: roomID, UserID: userID, ConnID: &connID, Muted: muted, Now: s.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("set muted: %w", err)
	}
	return nil
}
