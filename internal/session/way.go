package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
)

// Way leads a participant into a session: the node that has the room, and how the
// participant stands.
type Way struct {
	sfuURL string
	grant  Grant
}

// Seat opens, in the caller's transaction, the way of a participant into a session
// that is locked or new: a node has the room, and a seat is held. So what commits with
// it isn't done for somebody who can't come in. Problems: those of CreateSessionToken,
// and unavailable when there is no node.
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

// IssueToken makes the token for a way that is committed. That doesn't fail for want of
// the database: the keys that were read last go on.
func (s *Service) IssueToken(ctx context.Context, w Way) (Token, error) {
	return s.issueToken(ctx, w.sfuURL, w.grant)
}
