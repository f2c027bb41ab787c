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

// Leave takes a user out of a room, for good: its connection ended and nobody came
// back in time. It does nothing unless connID is the connection that counts, and
// may be repeated. A call that everybody has left is over. Who is sent away because
// this node stops may be back.
func (s *Service) Leave(ctx context.Context, tenantID, roomID, userID, connID string) error {
	// One that was replaced isn't worth a lock: a connection enters but once.
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

// mayBeBack is until when the seats of those are kept who are lost now; nil for not
// at all.
func (s *Service) mayBeBack() *time.Time {
	if !s.retired.Load() {
		return nil
	}
	return new(s.config.Now().Add(resumeFor))
}

// finder locks participants of a locked room.
type finder func(ctx context.Context, tx pgx.Tx, row db.Session) ([]db.Participant, error)

// part takes those whom find locks out of a room. until is when the seats that they
// had are given back, nil for now.
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

// takeOut writes that locked participants of a locked room are gone.
func (s *Service) takeOut(ctx context.Context, tx pgx.Tx, row db.Session, list []db.Participant, until *time.Time, t *told) error {
	now := s.config.Now()
	last := list[len(list)-1].UserID
	for i := range list {
		p := &list[i]
		wasIn := p.State == Joined
		gone(&row, p, now)
		// A participant who has left for good is unmuted when it comes back.
		p.Muted, p.Silenced = p.Muted && until != nil, p.Silenced && until != nil
		if wasIn && until != nil { // its own, even if the capacity fell meanwhile
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

// SetMuted notes that a participant has muted or unmuted its own microphone. It
// does nothing unless connID is the connection that counts.
func (s *Service) SetMuted(ctx context.Context, tenantID, roomID, userID, connID string, muted bool) error {
	err := db.New(s.config.Pool).SetMuted(ctx, db.SetMutedParams{
		TenantID: tenantID, RoomID: roomID, UserID: userID, ConnID: &connID, Muted: muted, Now: s.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("set muted: %w", err)
	}
	return nil
}
