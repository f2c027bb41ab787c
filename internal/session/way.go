package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
)

// Way is the node that has a session's room, and the participant's grant there.
type Way struct {
	sfuURL string
	grant  Grant
}

// Seat reserves, in the caller's transaction, a participant's entry to a locked or
// new session: it places the room on a node and holds a seat. So the transaction
// commits only if the participant can enter. Problems: those of
// CreateSessionToken, and unavailable when there is no node.
func (s *Service) Seat(ctx context.Context, tx pgx.Tx, row db.Session, userID string) (db.Session, Way, error) {
	now := s.config.Now()
	where, err := s.placeBy(ctx, db.New(tx), row.TenantID, row.ID, false)
	if err != nil {
		return row, Way{}, err
	}
	p, err := LockParticipant(ctx, tx, row, userID)
	if err != nil {
		return row, Way{}, err
	}
	if err := mayCome(row, p, now); err != nil {
		return row, Way{}, err
	}
	if p.State != Joined {
		if err := takeSeat(&row, &p, new(now.Add(heldFor))); err != nil {
			return row, Way{}, err
		}
		if err := saveParticipants(ctx, tx, now, p); err != nil {
			return row, Way{}, err
		}
		if err := saveSession(ctx, tx, row); err != nil {
			return row, Way{}, err
		}
	}
	return row, Way{where.sfuURL, grantOf(p, &row.State, "")}, nil
}

// IssueToken makes the token for a committed Way. It works while the database is
// down, because it uses the signing keys that were read last.
func (s *Service) IssueToken(ctx context.Context, w Way) (Token, error) {
	return s.issueToken(ctx, w.sfuURL, w.grant)
}
