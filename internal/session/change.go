package session

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/postgres"
)

// change runs fn in a transaction that changes a session and, if necessary, its
// breakout rooms. The events that fn adds to t commit with the transaction.
// Publications follow after the commit, in the order of the commits.
func (s *Service) change(ctx context.Context, c account.Caller, sessionID string, fn func(tx pgx.Tx, t *told) error) error {
	release, err := s.holdWithBreakouts(ctx, c.TenantID, sessionID)
	if err != nil {
		return err
	}
	defer release()
	var t *told
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		t = &told{}
		if err := fn(tx, t); err != nil {
			return err
		}
		return s.emit(ctx, tx, t)
	})
	if err == nil {
		s.publish(ctx, t)
	}
	return err
}

// participantChange changes a participant and, if necessary, its session. It
// reports whether it changed anything.
type participantChange = func(tx pgx.Tx, t *told, row *db.Session, p *db.Participant) (changed bool, err error)

// changeParticipant is change for one participant. fn receives the participant and
// its session, both locked. If fn reports a change, both are saved.
func (s *Service) changeParticipant(
	ctx context.Context, c account.Caller, sessionID, userID string, need power,
	fn participantChange,
) (p db.Participant, err error) {
	err = s.change(ctx, c, sessionID, func(tx pgx.Tx, t *told) error {
		row, err := s.lockFor(ctx, tx, c, sessionID, need)
		if err != nil {
			return err
		}
		if need != presence {
			if _, err := lockOpenBreakouts(ctx, tx, row); err != nil { // lock order: sessions before participants
				return err
			}
		}
		if p, err = LockParticipant(ctx, tx, row, userID); err != nil {
			return err
		}
		before := row
		changed, err := fn(tx, t, &row, &p)
		if err != nil || !changed {
			return err
		}
		p.UpdatedAt = s.config.Now()
		if err := saveParticipants(ctx, tx, p.UpdatedAt, p); err != nil {
			return err
		}
		if row.Seats != before.Seats || row.Present != before.Present || row.SpotlightUserID != before.SpotlightUserID {
			if err := saveSession(ctx, tx, row); err != nil {
				return err
			}
		}
		if row.SpotlightUserID != before.SpotlightUserID {
			return Changed(ctx, tx, p.RoomID, "") // the picture changes for every participant
		}
		return Changed(ctx, tx, p.RoomID, p.UserID)
	})
	return p, err
}

// holdWithBreakouts waits for its turn at a session and its open breakout rooms.
func (s *Service) holdWithBreakouts(ctx context.Context, tenantID, sessionID string) (release func(), err error) {
	ids, err := db.New(s.config.Pool).ListOpenBreakouts(ctx, db.ListOpenBreakoutsParams{TenantID: tenantID, ParentSessionID: &sessionID})
	if err != nil {
		return nil, fmt.Errorf("list breakouts: %w", err)
	}
	return s.rooms.Hold(append([]string{sessionID}, ids...)...), nil
}
