package session

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
)

// Seat states of participants.
const (
	seatNone  = "none"
	seatHeld  = "held"
	seatTaken = "taken"
)

// errFull refuses an entry because no seat is free.
func errFull() error {
	return problem.New(problem.Conflict, "session_full", "the session is full")
}

// takeSeat gives the participant a seat: until the given time, or with nil for as
// long as it is in the room. Both rows are locked; the caller saves them.
func takeSeat(s *db.Session, p *db.Participant, until *time.Time) error {
	if p.Seat == seatNone {
		if s.Seats >= s.Capacity {
			return errFull()
		}
		s.Seats++
	}
	p.Seat, p.SeatUntil = seatTaken, nil
	if until != nil {
		p.Seat, p.SeatUntil = seatHeld, until
	}
	return nil
}

// freeSeat frees the participant's seat, if it has one. Both rows are locked; the
// caller saves them.
func freeSeat(s *db.Session, p *db.Participant) {
	if p.Seat != seatNone {
		s.Seats--
	}
	p.Seat, p.SeatUntil = seatNone, nil
}

// sweepSeats frees seats whose reservation has expired, if a locked session seems
// full. It keeps the seats of the users in except, whose requests are being decided.
func sweepSeats(ctx context.Context, tx pgx.Tx, s *db.Session, now time.Time, except ...string) error {
	if s.Seats < s.Capacity {
		return nil
	}
	n, err := db.New(tx).FreeExpiredSeats(ctx, db.FreeExpiredSeatsParams{TenantID: s.TenantID, RoomID: s.ID, Now: now, ExceptUsers: except})
	if err != nil {
		return fmt.Errorf("free expired seats: %w", err)
	}
	s.Seats -= int32(n)
	return nil
}

// admitParticipant admits a participant to a session, both locked. A participant that waits
// with a connection enters at once. One without a connection gets a seat that is
// reserved for reserveFor. The caller saves both rows. Problem: session_full.
func admitParticipant(ctx context.Context, tx pgx.Tx, s *db.Session, p *db.Participant, now time.Time) error {
	if p.Seat == seatNone {
		if err := sweepSeats(ctx, tx, s, now, p.UserID); err != nil {
			return err
		}
	}
	if p.State == Joined {
		p.Admitted = true
		return nil
	}
	if p.ConnID != nil {
		if err := takeSeat(s, p, nil); err != nil {
			return err
		}
		enterRoom(s, p, now)
		return nil
	}
	if err := takeSeat(s, p, new(now.Add(reserveFor))); err != nil {
		return err
	}
	p.Admitted, p.State = true, Invited
	if p.JoinedAt != nil {
		p.State = Left
	}
	return nil
}

// enterRoom puts a connected participant that has a seat into the room.
func enterRoom(s *db.Session, p *db.Participant, now time.Time) {
	if p.State != Joined {
		s.Present++
		// A new participant starts unmuted; one that reconnects in time keeps its mute
		// state.
		p.Muted, p.Silenced = p.Muted && mayResume(*p, now), p.Silenced && mayResume(*p, now)
	}
	p.State, p.Admitted, p.LeftAt = Joined, true, nil
	if p.JoinedAt == nil {
		p.JoinedAt = &now
	}
}

// leaveRoom removes a participant from the room or the waiting room, and clears its
// connection, seat and raised hand.
func leaveRoom(s *db.Session, p *db.Participant, now time.Time) {
	freeSeat(s, p)
	if p.State == Joined {
		s.Present--
		p.State, p.LeftAt = Left, &now
	}
	p.HandRaisedAt, p.ConnID, p.Node = nil, nil, nil
}

// saveSession writes the fields of a locked session that may have changed.
func saveSession(ctx context.Context, tx pgx.Tx, s db.Session) error {
	err := db.New(tx).SaveSession(ctx, db.SaveSessionParams{
		TenantID: s.TenantID, ID: s.ID, Name: s.Name, Capacity: s.Capacity, RecordingEnabled: s.RecordingEnabled,
		TranscriptionEnabled: s.TranscriptionEnabled, WaitingRoom: s.WaitingRoom, Locked: s.Locked, Layout: s.Layout,
		SpotlightUserID: s.SpotlightUserID, InviteUserIds: s.InviteUserIds, State: s.State, Seats: s.Seats, Present: s.Present,
		RecordingID: s.RecordingID, Metadata: s.Metadata, StartedAt: s.StartedAt, EndedAt: s.EndedAt, UpdatedAt: s.UpdatedAt,
	})
	if err != nil {
		return fmt.Errorf("save session: %w", err)
	}
	return nil
}

// saveParticipants writes the fields of locked participants that may have changed,
// in one round trip.
func saveParticipants(ctx context.Context, tx pgx.Tx, now time.Time, list ...db.Participant) error {
	if len(list) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	for _, p := range list {
		postgres.Queue(b, db.SaveParticipant, db.SaveParticipantParams{
			TenantID: p.TenantID, RoomID: p.RoomID, UserID: p.UserID, DisplayName: p.DisplayName, Role: p.Role,
			CanPublishScreen: p.CanPublishScreen, State: p.State, Admitted: p.Admitted, Seat: p.Seat, SeatUntil: p.SeatUntil,
			Muted: p.Muted, Silenced: p.Silenced, HandRaisedAt: p.HandRaisedAt, ConnID: p.ConnID, Node: p.Node,
			JoinedAt: p.JoinedAt, LeftAt: p.LeftAt, UpdatedAt: now,
		})
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("save participants: %w", err)
	}
	return nil
}
