package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
)

// PromoteSessionParticipant gives a participant a higher role and lowers its
// raised hand. If it has the role already, only the hand is lowered.
func (s *Service) PromoteSessionParticipant(
	ctx context.Context, c tenancy.Caller, sessionID, userID, role string,
) (p db.Participant, err error) {
	err = s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, a *announcements, row db.Session) error {
		if p, err = lockWithBreakouts(ctx, tx, row, userID); err != nil {
			return err
		}
		if err := checkLive(row); err != nil {
			return err
		}
		if err := checkPromotion(p, role); err != nil {
			return err
		}
		before, action := p, "session.promote_participant"
		if p.Role == role {
			if !lower(c, a, row, &p) {
				return nil
			}
			action = "session.lower_hand"
		} else {
			// Permissions that were granted in addition to the old role stay.
			p.Role, p.CanPublishScreen, p.HandRaisedAt = role, p.CanPublishScreen || ScreenOf(role), nil
			a.add(row, event.SessionParticipantPromoted, eventdata.SessionParticipantPromotedData{
				SessionParticipantEventData: participantDataOf(p, By(c)), PreviousRole: eventdata.ParticipantRole(before.Role),
			})
			if err := s.followInBreakouts(ctx, tx, a, c, row, before.Role, p); err != nil {
				return err
			}
		}
		if err := s.auditParticipant(ctx, tx, c, action, before, p); err != nil {
			return err
		}
		return s.saveParticipant(ctx, tx, row, row, &p)
	})
	return p, err
}
