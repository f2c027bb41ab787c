package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/event"
)

// PromoteSessionParticipant gives a participant a higher role and lowers its
// raised hand. If it has the role already, only the hand is lowered.
func (s *Service) PromoteSessionParticipant(ctx context.Context, c account.Caller, sessionID, userID, role string) (db.Participant, error) {
	return s.changeParticipant(ctx, c, sessionID, userID, hosting, func(tx pgx.Tx, t *told, row *db.Session, p *db.Participant) (bool, error) {
		if err := checkLive(*row); err != nil {
			return false, err
		}
		if err := mayPromote(*p, role); err != nil {
			return false, err
		}
		before := *p
		if p.Role == role {
			if !lower(c, t, row, p) {
				return false, nil
			}
			return true, s.auditParticipant(ctx, tx, c, "session.lower_hand", before, *p)
		}
		// Permissions that were granted in addition to the old role stay.
		p.Role, p.CanPublishScreen, p.HandRaisedAt = role, p.CanPublishScreen || ScreenOf(role), nil
		t.add(*row, event.SessionParticipantPromoted, promotedData{ParticipantDataOf(*p, By(c)), before.Role})
		if err := s.followInBreakouts(ctx, tx, t, c, *row, before.Role, *p); err != nil {
			return false, err
		}
		return true, s.auditParticipant(ctx, tx, c, "session.promote_participant", before, *p)
	})
}
