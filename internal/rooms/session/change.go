package session

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy"
)

// change runs fn in a transaction that changes a session and, if necessary, its
// breakout rooms. row is the session, locked; a caller without the permission gets an
// error. The events that fn adds to a commit with the transaction. Its publications
// follow, in the order of the commits.
func (s *Service) change(
	ctx context.Context, c tenancy.Caller, sessionID string, need permission, fn func(tx pgx.Tx, a *announcements, row db.Session) error,
) error {
	release, err := s.takeTurns(ctx, c.TenantID, sessionID)
	if err != nil {
		return err
	}
	defer release()
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		row, err := s.lockFor(ctx, tx, c, sessionID, need)
		if err != nil {
			return err
		}
		a := &announcements{}
		if err := fn(tx, a, row); err != nil {
			return err
		}
		return s.announce(ctx, tx, a)
	})
}

// lockWithBreakouts locks one participant of a locked session for a change that may
// affect the session's breakout rooms too: sessions are locked before participants.
func lockWithBreakouts(ctx context.Context, tx pgx.Tx, row db.Session, userID string) (db.Participant, error) {
	if _, err := lockOpenBreakouts(ctx, tx, row); err != nil {
		return db.Participant{}, err
	}
	return LockParticipantTx(ctx, tx, row, userID)
}

// saveParticipant saves a changed participant, and its session if the seats, the number of
// participants or the spotlight differ from the stored row. All nodes are notified of the
// participant's grant at the commit.
func (s *Service) saveParticipant(ctx context.Context, tx pgx.Tx, stored, row db.Session, p *db.Participant) error {
	p.UpdatedAt = s.config.Now()
	if err := saveParticipants(ctx, tx, p.UpdatedAt, *p); err != nil {
		return err
	}
	if row.Seats != stored.Seats || row.Present != stored.Present || row.SpotlightUserID != stored.SpotlightUserID {
		if err := saveSession(ctx, tx, row); err != nil {
			return err
		}
	}
	if row.SpotlightUserID != stored.SpotlightUserID {
		return ChangedTx(ctx, tx, p.RoomID, "") // the picture changes for every participant
	}
	return ChangedTx(ctx, tx, p.RoomID, p.UserID)
}

// takeTurns waits for its turn at a session and its open breakout rooms.
func (s *Service) takeTurns(ctx context.Context, tenantID, sessionID string) (release func(), err error) {
	ids, err := db.New(s.config.Pool).ListOpenBreakouts(ctx, db.ListOpenBreakoutsParams{TenantID: tenantID, ParentSessionID: &sessionID})
	if err != nil {
		return nil, fmt.Errorf("list breakouts: %w", err)
	}
	return s.rooms.Take(ctx, append([]string{sessionID}, ids...)...)
}
