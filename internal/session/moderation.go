package session

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/event"
)

// ParticipantPatch holds the changes of a participant; nil keeps a value.
type ParticipantPatch struct {
	Role             *string
	CanPublishScreen *bool
}

// UpdateSessionParticipant changes a participant's role or permissions.
func (s *Service) UpdateSessionParticipant(
	ctx context.Context, c account.Caller, sessionID, userID string, patch ParticipantPatch,
) (db.Participant, error) {
	return s.changeParticipant(ctx, c, sessionID, userID, hosting, func(tx pgx.Tx, t *told, row *db.Session, p *db.Participant) (bool, error) {
		if err := checkOpen(*row); err != nil {
			return false, err
		}
		before := *p
		if patch.Role != nil {
			if err := mayBeRole(*p, *patch.Role); err != nil {
				return false, err
			}
			if p.Role != *patch.Role {
				p.Role, p.CanPublishScreen = *patch.Role, ScreenOf(*patch.Role)
			}
		}
		if patch.CanPublishScreen != nil {
			p.CanPublishScreen = *patch.CanPublishScreen
		}
		if p.Role == before.Role && p.CanPublishScreen == before.CanPublishScreen {
			return false, nil
		}
		t.add(*row, event.SessionParticipantUpdated, ParticipantDataOf(*p, By(c)))
		if err := s.followInBreakouts(ctx, tx, t, c, *row, before.Role, *p); err != nil {
			return false, err
		}
		return true, s.auditParticipant(ctx, tx, c, "session.update_participant", before, *p)
	})
}

// KickSessionParticipant kicks a participant from a session and its breakout
// rooms. It has no effect on a participant who was kicked already.
func (s *Service) KickSessionParticipant(ctx context.Context, c account.Caller, sessionID, userID string) (db.Participant, error) {
	kick := func(tx pgx.Tx, t *told, row *db.Session, p *db.Participant) (bool, error) {
		if p.State == Kicked {
			return false, nil
		}
		if err := checkOpen(*row); err != nil {
			return false, err
		}
		if err := mayKick(*p); err != nil {
			return false, err
		}
		before := *p
		s.throwOut(c, t, row, p)
		if err := s.kickFromBreakouts(ctx, tx, t, c, *row, userID); err != nil {
			return false, err
		}
		return true, s.auditParticipant(ctx, tx, c, "session.kick_participant", before, *p)
	}
	return s.changeParticipant(ctx, c, sessionID, userID, moderation, kick)
}

// throwOut removes a participant from the room, frees its seat and marks it as
// kicked. If the spotlight was on it, the spotlight ends.
func (s *Service) throwOut(c account.Caller, t *told, row *db.Session, p *db.Participant) {
	gone(row, p, s.config.Now())
	p.State, p.Admitted = Kicked, false
	t.add(*row, event.SessionParticipantKicked, ParticipantDataOf(*p, By(c)))
	if row.SpotlightUserID != nil && *row.SpotlightUserID == p.UserID {
		row.SpotlightUserID = nil
		t.add(*row, event.SessionSpotlight, SpotlightData{row.ID, nil, By(c)})
	}
}

// AdmitSessionParticipant admits a participant from the waiting room, or readmits
// a kicked one. Admitting again has no effect.
func (s *Service) AdmitSessionParticipant(ctx context.Context, c account.Caller, sessionID, userID string) (db.Participant, error) {
	return s.changeParticipant(ctx, c, sessionID, userID, hosting, func(tx pgx.Tx, t *told, row *db.Session, p *db.Participant) (bool, error) {
		if err := checkLive(*row); err != nil {
			return false, err
		}
		if p.Admitted && p.State != Waiting {
			return false, nil
		}
		before := *p
		if p.State != Waiting && p.State != Kicked { // it has not entered yet; when it does, it won't wait
			p.Admitted = true
			return true, s.auditParticipant(ctx, tx, c, "session.admit_participant", before, *p)
		}
		if err := letIn(ctx, tx, row, p, s.config.Now()); err != nil {
			return false, err
		}
		t.add(*row, event.SessionParticipantUpdated, ParticipantDataOf(*p, By(c)))
		return true, s.auditParticipant(ctx, tx, c, "session.admit_participant", before, *p)
	})
}

// MuteAllParticipants mutes microphones and screen audio. It returns how many
// participants had their microphone on.
func (s *Service) MuteAllParticipants(ctx context.Context, c account.Caller, sessionID string, exceptHost bool) (muted int, err error) {
	err = s.change(ctx, c, sessionID, func(tx pgx.Tx, t *told) error {
		row, err := s.lockFor(ctx, tx, c, sessionID, moderation)
		if err != nil {
			return err
		}
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
		t.add(row, event.SessionMutedAll, mutedAllData{row.ID, exceptHost, muted, By(c)})
		err = s.audit(ctx, tx, c, "session.mute_all", row.ID, nil, map[string]any{"exceptHost": exceptHost, "muted": muted})
		if err != nil || len(silenced) == 0 {
			return err
		}
		return Changed(ctx, tx, row.ID, "")
	})
	return muted, err
}

// SetSessionSpotlight puts the spotlight on a participant; nil ends it.
func (s *Service) SetSessionSpotlight(ctx context.Context, c account.Caller, sessionID string, userID *string) (View, error) {
	var row db.Session
	err := s.change(ctx, c, sessionID, func(tx pgx.Tx, t *told) error {
		var err error
		if row, err = s.lockFor(ctx, tx, c, sessionID, moderation); err != nil {
			return err
		}
		if err := checkLive(row); err != nil {
			return err
		}
		if userID != nil {
			p, err := LockParticipant(ctx, tx, row, *userID)
			if err != nil {
				return err
			}
			if err := checkIn(p); err != nil {
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
		t.add(row, event.SessionSpotlight, SpotlightData{row.ID, userID, By(c)})
		if err := Changed(ctx, tx, row.ID, ""); err != nil {
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

// standingOf is a participant as audit entries show it.
func standingOf(p db.Participant) map[string]any {
	return map[string]any{
		"userId": p.UserID, "role": p.Role, "canPublishScreen": p.CanPublishScreen, "state": p.State, "admitted": p.Admitted,
		"handRaised": p.HandRaisedAt != nil,
	}
}

func (s *Service) auditParticipant(ctx context.Context, tx pgx.Tx, c account.Caller, action string, before, p db.Participant) error {
	return s.audit(ctx, tx, c, action, p.RoomID, standingOf(before), standingOf(p))
}
