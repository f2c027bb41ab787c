package session

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
)

// SfuTokenInput is whom to let into a stream's room; the door has checked its limits.
type SfuTokenInput struct {
	// UserID is nil for a made-up one, Role for a viewer, DisplayName for what it was.
	UserID, DisplayName, Role *string
}

// CreateSfuToken lets somebody into a stream's room. A user who is there already
// has the role from now on that this says.
func (s *Service) CreateSfuToken(ctx context.Context, c account.Caller, streamID string, in SfuTokenInput) (Token, error) {
	userID, role := id.New(id.Guest), Viewer
	if in.UserID != nil {
		userID = *in.UserID
	}
	if in.Role != nil {
		role = *in.Role
	}
	room := db.Session{TenantID: c.TenantID, ID: streamID}
	if err := s.hasStream(ctx, room); err != nil {
		return Token{}, err
	}
	where, err := s.place(ctx, c.TenantID, streamID, false)
	if err != nil {
		return Token{}, err
	}
	var p db.Participant
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		now := s.config.Now()
		if err := Invite(ctx, tx, room, now, []Invitee{{UserID: userID, DisplayName: in.DisplayName, Role: role}}); err != nil {
			return err
		}
		if p, err = LockParticipant(ctx, tx, room, userID); err != nil {
			return err
		}
		if p.State == Kicked {
			return problem.New(problem.Forbidden, "forbidden", "this user was thrown out of the stream's room")
		}
		before := grantOf(p, nil, "")
		p.Role, p.CanPublishScreen = role, ScreenOf(role)
		if in.DisplayName != nil {
			p.DisplayName = in.DisplayName
		}
		if grantOf(p, nil, "") != before {
			if err := Changed(ctx, tx, streamID, userID); err != nil {
				return err
			}
		}
		return saveParticipants(ctx, tx, now, p)
	})
	if err != nil {
		return Token{}, err
	}
	return s.issueToken(ctx, where.sfuURL, grantOf(p, nil, ""))
}

func (s *Service) hasStream(ctx context.Context, room db.Session) error {
	known, err := db.New(s.config.Pool).HasStream(ctx, db.HasStreamParams{TenantID: room.TenantID, ID: room.ID})
	switch {
	case err != nil:
		return fmt.Errorf("look for stream: %w", err)
	case !known:
		return problem.Missing("stream")
	}
	return nil
}
