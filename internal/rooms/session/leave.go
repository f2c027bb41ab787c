package session

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
)

// Leave removes a user from a room: its connection ended and no other replaced it in
// time. It does nothing unless connID is the user's current
// connection, so it may be repeated. A call ends when its last participant leaves.
// When the node shuts down, seats are kept so that participants can reconnect.
func (s *Service) Leave(ctx context.Context, tenantID, roomID, userID, connID string) error {
	// If the connection was replaced, return before taking a lock: a connection id
	// enters only once.
	p, err := getParticipant(ctx, db.New(s.config.Pool), tenantID, roomID, userID)
	switch {
	case problem.Is(err, "not_found"), err == nil && (p.ConnID == nil || *p.ConnID != connID):
		return nil
	case err != nil:
		return err
	}
	return s.removeParticipants(ctx, tenantID, roomID, func(ctx context.Context, tx pgx.Tx, row db.Session) ([]db.Participant, error) {
		p, err := LockParticipantTx(ctx, tx, row, userID)
		switch {
		case problem.Is(err, "not_found"), err == nil && (p.ConnID == nil || *p.ConnID != connID):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []db.Participant{p}, nil
	}, s.seatsKeptUntil())
}

// seatsKeptUntil is the time until which the seats of participants who lose their
// connection now are kept; nil to free the seats at once.
func (s *Service) seatsKeptUntil() *time.Time {
	if !s.retired.Load() {
		return nil
	}
	return new(s.config.Now().Add(resumeFor))
}

// finder locks participants of a locked room and returns them.
type finder func(ctx context.Context, tx pgx.Tx, row db.Session) ([]db.Participant, error)

// removeParticipants removes the participants that find returns from a room. until is the time
// until which their seats are kept, nil to free the seats at once.
func (s *Service) removeParticipants(ctx context.Context, tenantID, roomID string, find finder, until *time.Time) error {
	release, err := s.rooms.Take(ctx, roomID)
	if err != nil {
		return err
	}
	defer release()
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		row := db.Session{TenantID: tenantID, ID: roomID}
		var err error
		if isSession(roomID) {
			if row, err = LockTx(ctx, tx, tenantID, roomID); err != nil {
				return err
			}
		}
		list, err := find(ctx, tx, row)
		if err != nil || len(list) == 0 {
			return err
		}
		return s.recordLeft(ctx, tx, row, list, until)
	})
	if problem.Is(err, "not_found") {
		return nil
	}
	return err
}

// recordLeft records that locked participants have left a locked room.
func (s *Service) recordLeft(ctx context.Context, tx pgx.Tx, row db.Session, list []db.Participant, until *time.Time) error {
	a, now := &announcements{}, s.config.Now()
	last := list[len(list)-1].UserID
	for i := range list {
		p := &list[i]
		wasIn := p.State == Joined
		leaveRoom(&row, p, now)
		// A participant without a kept seat is unmuted when it comes back.
		p.Muted, p.Silenced = p.Muted && until != nil, p.Silenced && until != nil
		if wasIn && until != nil { // also if the capacity was reduced meanwhile: the seat was its own
			row.Seats++
			p.Seat, p.SeatUntil = seatHeld, until
		}
		if wasIn && row.SpotlightUserID != nil && *row.SpotlightUserID == p.UserID {
			row.SpotlightUserID = nil
			a.add(row, event.SessionSpotlight, eventdata.SessionSpotlightData{SessionID: row.ID})
			if err := ChangedTx(ctx, tx, row.ID, ""); err != nil {
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
		if _, err := s.end(ctx, tx, row, Ending{By: &last}, a); err != nil {
			return err
		}
	} else if err := saveSession(ctx, tx, row); err != nil {
		return err
	}
	return s.announce(ctx, tx, a)
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
