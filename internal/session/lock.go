package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/id"
	"showfloor/internal/problem"
)

// ChangesChannel is where the database tells all nodes, at the commit, whose
// standing in which room is another: "<room>/<user>", or "<room>/" for everybody's.
// Whoever holds connections of theirs asks GetGrant.
const ChangesChannel = "showfloor_room_changes"

// get is one of the tenant's sessions.
func get(ctx context.Context, q *db.Queries, tenantID, sessionID string) (db.Session, error) {
	row, err := q.GetSession(ctx, db.GetSessionParams{TenantID: tenantID, ID: sessionID})
	if errors.Is(err, pgx.ErrNoRows) {
		return db.Session{}, problem.Missing("session")
	}
	if err != nil {
		return db.Session{}, fmt.Errorf("get session: %w", err)
	}
	return row, nil
}

// getBreakout is a breakout room of a session. To those in that one all others are
// as if they weren't there.
func getBreakout(ctx context.Context, q *db.Queries, tenantID, parentID, sessionID string) (db.Session, error) {
	row, err := get(ctx, q, tenantID, sessionID)
	if err == nil && (row.ParentSessionID == nil || *row.ParentSessionID != parentID) {
		return db.Session{}, problem.Missing("session")
	}
	return row, err
}

// Lock locks one of the tenant's sessions. Whatever changes a session, its
// participants' standing or its breakouts holds it, parents before children, so
// that events of a room commit in the order in which they happen.
func Lock(ctx context.Context, tx pgx.Tx, tenantID, sessionID string) (db.Session, error) {
	row, err := db.New(tx).LockSession(ctx, db.LockSessionParams{TenantID: tenantID, ID: sessionID})
	if errors.Is(err, pgx.ErrNoRows) {
		return db.Session{}, problem.Missing("session")
	}
	if err != nil {
		return db.Session{}, fmt.Errorf("lock session: %w", err)
	}
	return row, nil
}

// LockParticipant locks one participant of a session that is locked.
func LockParticipant(ctx context.Context, tx pgx.Tx, s db.Session, userID string) (db.Participant, error) {
	row, err := db.New(tx).LockParticipant(ctx, db.LockParticipantParams{TenantID: s.TenantID, RoomID: s.ID, UserID: userID})
	if errors.Is(err, pgx.ErrNoRows) {
		return db.Participant{}, problem.Missing("participant")
	}
	if err != nil {
		return db.Participant{}, fmt.Errorf("lock participant: %w", err)
	}
	return row, nil
}

// Changed tells all nodes, once the transaction commits, that a participant's
// standing is another; an empty userID means everybody's in the room.
func Changed(ctx context.Context, tx pgx.Tx, roomID, userID string) error {
	if err := db.New(tx).Notify(ctx, db.NotifyParams{Channel: ChangesChannel, Payload: roomID + "/" + userID}); err != nil {
		return fmt.Errorf("tell the nodes: %w", err)
	}
	return nil
}

// isSession tells whether a room is a session's, and not a stream's.
func isSession(roomID string) bool { return id.Session.Matches(roomID) }
