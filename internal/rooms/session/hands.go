package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
)

// RaiseHand raises a participant's hand. It has no effect if the hand is up.
func (s *Service) RaiseHand(ctx context.Context, c tenancy.Caller, sessionID, userID string) (p db.Participant, err error) {
	err = s.change(ctx, c, sessionID, presence, func(tx pgx.Tx, a *announcements, row db.Session) error {
		if p, err = LockParticipantTx(ctx, tx, row, userID); err != nil {
			return err
		}
		if c.Participant != nil && c.Participant.UserID != userID {
			return problem.New(problem.Forbidden, "forbidden", "you can only raise your own hand")
		}
		if err := checkRaiseHand(row, p); err != nil || p.HandRaisedAt != nil {
			return err
		}
		now := s.config.Now()
		p.HandRaisedAt = &now
		a.add(row, event.SessionHandraiseRaised, eventdata.SessionHandraiseRaisedData{
			SessionID: row.ID, UserID: p.UserID, DisplayName: p.DisplayName, Role: eventdata.ParticipantRole(p.Role), RaisedAt: timestamp.From(now),
		})
		return s.saveParticipant(ctx, tx, row, row, &p)
	})
	return p, err
}

// LowerHand lowers a participant's hand. It has no effect if the hand is down. Lowering
// one's own hand is not audited.
func (s *Service) LowerHand(ctx context.Context, c tenancy.Caller, sessionID, userID string) (p db.Participant, err error) {
	need, own := presence, c.Participant != nil && c.Participant.UserID == userID
	if c.Participant != nil && !own {
		need = moderation
	}
	err = s.change(ctx, c, sessionID, need, func(tx pgx.Tx, a *announcements, row db.Session) error {
		if p, err = LockParticipantTx(ctx, tx, row, userID); err != nil {
			return err
		}
		if err := checkLive(row); err != nil {
			return err
		}
		before := p
		if !lower(c, a, row, &p) {
			return nil
		}
		if !own {
			if err := s.auditParticipant(ctx, tx, c, "session.lower_hand", before, p); err != nil {
				return err
			}
		}
		return s.saveParticipant(ctx, tx, row, row, &p)
	})
	return p, err
}

// lower lowers a raised hand. It reports whether the hand was up.
func lower(c tenancy.Caller, a *announcements, row db.Session, p *db.Participant) bool {
	if p.HandRaisedAt == nil {
		return false
	}
	p.HandRaisedAt = nil
	a.add(row, event.SessionHandraiseLowered, eventdata.SessionHandraiseLoweredData{
		SessionID: row.ID, UserID: p.UserID, DisplayName: p.DisplayName, Role: eventdata.ParticipantRole(p.Role), By: By(c),
	})
	return true
}
