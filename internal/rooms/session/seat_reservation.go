package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
)

// SeatReservation is the node that has a session's room, and the participant's grant there.
type SeatReservation struct {
	sfuURL string
	grant  Grant
}

// ReserveSeatTx reserves, in the caller's transaction, a participant's entry to a locked or
// new session: it places the room on a node and reserves a seat. So the transaction
// commits only if the participant can enter. Problems: those of
// CreateSessionToken, and unavailable when there is no node.
func (s *Service) ReserveSeatTx(ctx context.Context, tx pgx.Tx, row db.Session, userID string) (db.Session, SeatReservation, error) {
	now := s.config.Now()
	where, err := s.placeBy(ctx, db.New(tx), row.TenantID, row.ID, false)
	if err != nil {
		return row, SeatReservation{}, err
	}
	p, err := LockParticipantTx(ctx, tx, row, userID)
	if err != nil {
		return row, SeatReservation{}, err
	}
	if err := checkEntry(row, p, now); err != nil {
		return row, SeatReservation{}, err
	}
	if p.State != Joined {
		if err := takeSeat(&row, &p, new(now.Add(reserveFor))); err != nil {
			return row, SeatReservation{}, err
		}
		if err := saveParticipants(ctx, tx, now, p); err != nil {
			return row, SeatReservation{}, err
		}
		if err := saveSession(ctx, tx, row); err != nil {
			return row, SeatReservation{}, err
		}
	}
	return row, SeatReservation{where.sfuURL, grantOf(p, &row.State, "")}, nil
}

// IssueToken makes the token for a committed reservation. It works while the database is
// down, because it uses the signing keys that were read last.
func (s *Service) IssueToken(ctx context.Context, r SeatReservation) (Token, error) {
	return s.issueToken(ctx, r.sfuURL, r.grant)
}
