package session

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
)

// ParticipantPatch holds the changes of a participant; nil keeps a value.
type ParticipantPatch struct {
	Role             *string
	CanPublishScreen *bool
}

// UpdateSessionParticipant changes a participant's role or permissions.
func (s *Service) UpdateSessionParticipant(
	ctx context.Context, c tenancy.Caller, sessionID, userID string, patch ParticipantPatch,
) (p db.Participant, err error) {
	err = s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, a *announcements, row db.Session) error {
		if p, err = lockWithBreakouts(ctx, tx, row, userID); err != nil {
			return err
		}
		if err := checkOpen(row); err != nil {
			return err
		}
		before := p
		if patch.Role != nil {
			if err := checkRoleChange(p, *patch.Role); err != nil {
				return err
			}
			if p.Role != *patch.Role {
				p.Role, p.CanPublishScreen = *patch.Role, ScreenOf(*patch.Role)
			}
		}
		if patch.CanPublishScreen != nil {
			p.CanPublishScreen = *patch.CanPublishScreen
		}
		if p.Role == before.Role && p.CanPublishScreen == before.CanPublishScreen {
			return nil
		}
		a.add(row, event.SessionParticipantUpdated, participantUpdated(p, By(c)))
		if err := s.followInBreakouts(ctx, tx, a, c, row, before.Role, p); err != nil {
			return err
		}
		if err := s.auditParticipant(ctx, tx, c, "session.update_participant", before, p); err != nil {
			return err
		}
		return s.saveParticipant(ctx, tx, row, row, &p)
	})
	return p, err
}

// KickSessionParticipant kicks a participant from a session and its breakout
// rooms. It has no effect on a participant who was kicked already.
func (s *Service) KickSessionParticipant(ctx context.Context, c tenancy.Caller, sessionID, userID string) (p db.Participant, err error) {
	err = s.change(ctx, c, sessionID, moderation, func(tx pgx.Tx, a *announcements, row db.Session) error {
		if p, err = lockWithBreakouts(ctx, tx, row, userID); err != nil || p.State == Kicked {
			return err
		}
		if err := checkOpen(row); err != nil {
			return err
		}
		if err := checkKick(p); err != nil {
			return err
		}
		stored, before := row, p
		s.markKicked(c, a, &row, &p)
		err := s.inBreakouts(ctx, tx, row, userID, func(room *db.Session, there *db.Participant) bool {
			if there.State == Kicked || there.Role == Host {
				return false
			}
			s.markKicked(c, a, room, there)
			return true
		})
		if err != nil {
			return err
		}
		if err := s.auditParticipant(ctx, tx, c, "session.kick_participant", before, p); err != nil {
			return err
		}
		return s.saveParticipant(ctx, tx, stored, row, &p)
	})
	return p, err
}

// markKicked removes a participant from the room, frees its seat and marks it as
// kicked. If the spotlight was on it, the spotlight ends.
func (s *Service) markKicked(c tenancy.Caller, a *announcements, row *db.Session, p *db.Participant) {
	leaveRoom(row, p, s.config.Now())
	p.State, p.Admitted = Kicked, false
	a.add(*row, event.SessionParticipantKicked, eventdata.SessionParticipantKickedData{
		SessionParticipantEventData: participantDataOf(*p, By(c)),
	})
	if row.SpotlightUserID != nil && *row.SpotlightUserID == p.UserID {
		row.SpotlightUserID = nil
		a.add(*row, event.SessionSpotlight, eventdata.SessionSpotlightData{SessionID: row.ID, By: By(c)})
	}
}

// AdmitSessionParticipant admits a participant from the waiting room, or readmits
// a kicked one. Admitting again has no effect.
func (s *Service) AdmitSessionParticipant(ctx context.Context, c tenancy.Caller, sessionID, userID string) (p db.Participant, err error) {
	err = s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, a *announcements, row db.Session) error {
		stored := row
		if p, err = lockWithBreakouts(ctx, tx, row, userID); err != nil {
			return err
		}
		if err := checkLive(row); err != nil {
			return err
		}
		if p.Admitted && p.State != Waiting {
			return nil
		}
		before := p
		if p.State == Waiting || p.State == Kicked {
			if err := admitParticipant(ctx, tx, &row, &p, s.config.Now()); err != nil {
				return err
			}
			a.add(row, event.SessionParticipantUpdated, participantUpdated(p, By(c)))
		} else {
			p.Admitted = true // it has not entered yet; when it does, it won't wait
		}
		if err := s.auditParticipant(ctx, tx, c, "session.admit_participant", before, p); err != nil {
			return err
		}
		return s.saveParticipant(ctx, tx, stored, row, &p)
	})
	return p, err
}

// MuteAllParticipants mutes microphones and screen audio. It returns how many
// participants had their microphone on.
func (s *Service) MuteAllParticipants(ctx context.Context, c tenancy.Caller, sessionID string, exceptHost bool) (muted int, err error) {
	err = s.change(ctx, c, sessionID, moderation, func(tx pgx.Tx, a *announcements, row db.Session) error {
		if err := checkLive(row); err != nil {
			return err
		}
		silenced, err := db.New(tx).MuteAllParticipants(ctx, db.MuteAllParticipantsParams{
			TenantID: row.TenantID, RoomID: row.ID, ExceptHost: exceptHost, Now: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("mute all: %w", err)
		}
		muted = 0
		for _, wasMuted := range silenced {
			if !wasMuted {
				muted++
			}
		}
		a.add(row, event.SessionMutedAll, eventdata.SessionMutedAllData{
			SessionID: row.ID, ExceptHost: exceptHost, Muted: int32(muted), By: By(c),
		})
		err = s.audit(ctx, tx, c, "session.mute_all", row.ID, nil, map[string]any{"exceptHost": exceptHost, "muted": muted})
		if err != nil || len(silenced) == 0 {
			return err
		}
		return ChangedTx(ctx, tx, row.ID, "")
	})
	return muted, err
}

// MuteSessionParticipant mutes one participant's microphone and screen audio. It has
// no effect on a viewer, or on a participant whom a moderator has muted already.
func (s *Service) MuteSessionParticipant(ctx context.Context, c tenancy.Caller, sessionID, userID string) (p db.Participant, err error) {
	err = s.change(ctx, c, sessionID, moderation, func(tx pgx.Tx, a *announcements, row db.Session) error {
		if p, err = LockParticipantTx(ctx, tx, row, userID); err != nil {
			return err
		}
		if err := checkLive(row); err != nil {
			return err
		}
		if err := checkInRoom(p); err != nil || !canBeMuted(p) {
			return err
		}
		before := p
		p.Muted, p.Silenced = true, true
		a.add(row, event.SessionParticipantMuted, eventdata.SessionParticipantMutedData{
			SessionParticipantEventData: participantDataOf(p, By(c)),
		})
		if err := s.auditParticipant(ctx, tx, c, "session.mute_participant", before, p); err != nil {
			return err
		}
		return s.saveParticipant(ctx, tx, row, row, &p)
	})
	return p, err
}

// SetSessionSpotlight puts the spotlight on a participant; nil ends it.
func (s *Service) SetSessionSpotlight(ctx context.Context, c tenancy.Caller, sessionID string, userID *string) (View, error) {
	var row db.Session
	err := s.change(ctx, c, sessionID, moderation, func(tx pgx.Tx, a *announcements, locked db.Session) error {
		row = locked
		if err := checkLive(row); err != nil {
			return err
		}
		if userID != nil {
			p, err := LockParticipantTx(ctx, tx, row, *userID)
			if err != nil {
				return err
			}
			if err := checkNotKicked(p); err != nil {
				return err
			}
		}
		if same(row.SpotlightUserID, userID) {
			return nil
		}
		before := row.SpotlightUserID
		row.SpotlightUserID, row.UpdatedAt = userID, s.config.Now()
		if err := saveSession(ctx, tx, row); err != nil {
			return err
		}
		a.add(row, event.SessionSpotlight, eventdata.SessionSpotlightData{SessionID: row.ID, UserID: userID, By: By(c)})
		if err := ChangedTx(ctx, tx, row.ID, ""); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, "session.spotlight", row.ID,
			map[string]any{"spotlightUserId": before}, map[string]any{"spotlightUserId": userID})
	})
	if err != nil {
		return View{}, err
	}
	return s.ViewOf(ctx, db.New(s.config.Pool), row)
}

func same(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// auditedParticipant is a participant as audit entries show it.
func auditedParticipant(p db.Participant) map[string]any {
	return map[string]any{
		"userId": p.UserID, "role": p.Role, "canPublishScreen": p.CanPublishScreen, "state": p.State, "admitted": p.Admitted,
		"handRaised": p.HandRaisedAt != nil, "mutedByModerator": p.Silenced,
	}
}

func (s *Service) auditParticipant(ctx context.Context, tx pgx.Tx, c tenancy.Caller, action string, before, p db.Participant) error {
	return s.audit(ctx, tx, c, action, p.RoomID, auditedParticipant(before), auditedParticipant(p))
}
