package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// SfuTokenInput describes a user who gets a token for a stream's room. The handler
// has checked its limits.
type SfuTokenInput struct {
	// UserID is nil for a generated one, Role for viewer, DisplayName to keep the
	// current name.
	UserID, DisplayName, Role *string
}

// CreateSfuToken issues a token for a stream's room. If the user is a participant
// already, its role changes to the given one at once.
func (s *Service) CreateSfuToken(ctx context.Context, c tenancy.Caller, streamID string, in SfuTokenInput) (Token, error) {
	userID, role := id.New(id.Guest), Viewer
	if in.UserID != nil {
		userID = *in.UserID
	}
	if in.Role != nil {
		role = *in.Role
	}
	room := db.Session{TenantID: c.TenantID, ID: streamID}
	if err := s.config.Streams.CheckStreamTx(ctx, s.config.Pool, c.TenantID, streamID); err != nil {
		return Token{}, err
	}
	where, err := s.place(ctx, c.TenantID, streamID, false)
	if err != nil {
		return Token{}, err
	}
	var p db.Participant
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		now := s.config.Now()
		if err := InviteTx(ctx, tx, room, now, []Invitee{{UserID: userID, DisplayName: in.DisplayName, Role: role}}); err != nil {
			return err
		}
		if p, err = LockParticipantTx(ctx, tx, room, userID); err != nil {
			return err
		}
		if p.State == Kicked {
			return problem.New(problem.Forbidden, "forbidden", "this user was kicked from the stream's room")
		}
		before := grantOf(p, nil, "")
		p.Role, p.CanPublishScreen = role, ScreenOf(role)
		if in.DisplayName != nil {
			p.DisplayName = in.DisplayName
		}
		if grantOf(p, nil, "") != before {
			if err := ChangedTx(ctx, tx, streamID, userID); err != nil {
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
