package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/event"
	"showfloor/internal/problem"
	"showfloor/internal/timestamp"
)

// RaiseHand raises a participant's hand. It has no effect if the hand is up.
func (s *Service) RaiseHand(ctx context.Context, c account.Caller, sessionID, userID string) (db.Participant, error) {
	return s.changeParticipant(ctx, c, sessionID, userID, presence, func(_ pgx.Tx, t *told, row *db.Session, p *db.Participant) (bool, error) {
		if c.Participant != nil && c.Participant.UserID != userID {
			return false, problem.New(problem.Forbidden, "forbidden", "you can raise your own hand alone")
		}
		if err := mayRaiseHand(*row, *p); err != nil || p.HandRaisedAt != nil {
			return false, err
		}
		now := s.config.Now()
		p.HandRaisedAt = &now
		t.add(*row, event.SessionHandraiseRaised, raisedData{row.ID, p.UserID, p.DisplayName, p.Role, timestamp.From(now)})
		return true, nil
	})
}

// LowerHand lowers a participant's hand. It has no effect if the hand is down.
func (s *Service) LowerHand(ctx context.Context, c account.Caller, sessionID, userID string) (db.Participant, error) {
	need := presence
	if c.Participant != nil && c.Participant.UserID != userID {
		need = moderation
	}
	return s.changeParticipant(ctx, c, sessionID, userID, need, func(tx pgx.Tx, t *told, row *db.Session, p *db.Participant) (bool, error) {
		if err := checkLive(*row); err != nil {
			return false, err
		}
		before := *p
		if !lower(c, t, row, p) {
			return false, nil
		}
		if c.Participant != nil && c.Participant.UserID == userID {
			return true, nil // lowering one's own hand is not audited
		}
		return true, s.auditParticipant(ctx, tx, c, "session.lower_hand", before, *p)
	})
}

// lower lowers a raised hand. It reports whether the hand was up.
func lower(c account.Caller, t *told, row *db.Session, p *db.Participant) bool {
	if p.HandRaisedAt == nil {
		return false
	}
	p.HandRaisedAt = nil
	t.add(*row, event.SessionHandraiseLowered, loweredData{row.ID, p.UserID, p.DisplayName, p.Role, By(c)})
	return true
}
