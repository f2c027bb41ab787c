package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
)

// ChangesChannel is the PostgreSQL channel on which changed participant grants are
// announced to all nodes, at the commit. The payload is "<room>/<user>", or
// "<room>/" for everyone in the room. A node that holds connections of these users
// then calls GetGrant.
const ChangesChannel = "showfloor_room_changes"

// get returns one of the tenant's sessions.
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

// GetTx returns one of the tenant's sessions, in the caller's transaction.
func GetTx(ctx context.Context, tx pgx.Tx, tenantID, sessionID string) (db.Session, error) {
	return get(ctx, db.New(tx), tenantID, sessionID)
}

// getBreakout returns a breakout room of a session. Any other session gives
// not_found, so that participants can't find out that it exists.
func getBreakout(ctx context.Context, q *db.Queries, tenantID, parentID, sessionID string) (db.Session, error) {
	row, err := get(ctx, q, tenantID, sessionID)
	if err == nil && (row.ParentSessionID == nil || *row.ParentSessionID != parentID) {
		return db.Session{}, problem.Missing("session")
	}
	return row, err
}

// getParticipant returns one participant of a room.
func getParticipant(ctx context.Context, q *db.Queries, tenantID, roomID, userID string) (db.Participant, error) {
	row, err := q.GetParticipant(ctx, db.GetParticipantParams{TenantID: tenantID, RoomID: roomID, UserID: userID})
	if errors.Is(err, pgx.ErrNoRows) {
		return db.Participant{}, problem.Missing("participant")
	}
	if err != nil {
		return db.Participant{}, fmt.Errorf("get participant: %w", err)
	}
	return row, nil
}

// LockTx locks one of the tenant's sessions. A change of a session, its
// participants' grants or its breakout rooms requires this lock, parents before
// children. So a room's events commit in the order of its changes.
func LockTx(ctx context.Context, tx pgx.Tx, tenantID, sessionID string) (db.Session, error) {
	row, err := db.New(tx).LockSession(ctx, db.LockSessionParams{TenantID: tenantID, ID: sessionID})
	if errors.Is(err, pgx.ErrNoRows) {
		return db.Session{}, problem.Missing("session")
	}
	if err != nil {
		return db.Session{}, fmt.Errorf("lock session: %w", err)
	}
	return row, nil
}

// LockParticipantTx locks one participant of a locked session.
func LockParticipantTx(ctx context.Context, tx pgx.Tx, s db.Session, userID string) (db.Participant, error) {
	row, err := db.New(tx).LockParticipant(ctx, db.LockParticipantParams{TenantID: s.TenantID, RoomID: s.ID, UserID: userID})
	if errors.Is(err, pgx.ErrNoRows) {
		return db.Participant{}, problem.Missing("participant")
	}
	if err != nil {
		return db.Participant{}, fmt.Errorf("lock participant: %w", err)
	}
	return row, nil
}

// ChangedTx notifies all nodes, at the commit, that a participant's grant has
// changed; an empty userID means everyone in the room.
func ChangedTx(ctx context.Context, tx pgx.Tx, roomID, userID string) error {
	if err := db.New(tx).Notify(ctx, db.NotifyParams{Channel: ChangesChannel, Payload: roomID + "/" + userID}); err != nil {
		return fmt.Errorf("notify the nodes: %w", err)
	}
	return nil
}

// isSession reports whether a room belongs to a session, and not to a stream.
func isSession(roomID string) bool { return id.Session.Matches(roomID) }
