package session

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// ListSessionParticipants pages through a session's participants in the order in
// which they were invited or first came. cursor is the user id after which the
// page starts, nil for the first page.
func (s *Service) ListSessionParticipants(
	ctx context.Context, c tenancy.Caller, sessionID string, cursor *string, limit int,
) ([]db.Participant, error) {
	var rows []db.Participant
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		if err := checkAccess(ctx, tx, c, sessionID); err != nil {
			return err
		}
		q, after := db.New(tx), new(int64)
		if cursor != nil {
			last, err := getParticipant(ctx, q, c.TenantID, sessionID, *cursor)
			if problem.Is(err, "not_found") {
				return problem.BadField("cursor", "is not from a Link header of this list")
			}
			if err != nil {
				return err
			}
			after = last.Position
		}
		var err error
		rows, err = q.ListSessionParticipants(ctx, db.ListSessionParticipantsParams{
			TenantID: c.TenantID, RoomID: sessionID, After: after, MaxRows: int32(limit),
		})
		if err != nil {
			return fmt.Errorf("list participants: %w", err)
		}
		return nil
	})
	return rows, err
}

// checkAccess refuses a participant who has no access to a session.
func checkAccess(ctx context.Context, tx pgx.Tx, c tenancy.Caller, sessionID string) error {
	if c.Participant != nil && c.Participant.RoomID != sessionID {
		if _, err := getBreakout(ctx, db.New(tx), c.TenantID, c.Participant.RoomID, sessionID); err != nil {
			return err
		}
	}
	row, err := get(ctx, db.New(tx), c.TenantID, sessionID)
	if err != nil || c.Participant == nil {
		return err
	}
	_, err = roleOf(ctx, tx, c, row)
	return err
}
