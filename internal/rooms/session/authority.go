package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// permission is the permission that an operation requires of a calling participant. The
// tenant's own server may do everything.
type permission int

const (
	// presence: every participant of the room, including invited ones.
	presence permission = iota
	// moderation: a host or cohost.
	moderation
	// hosting: the host.
	hosting
)

// lockFor locks a session for a change and refuses a participant whose role
// doesn't permit it. A token of the parent session is valid in each of its
// breakout rooms too; in this case lockFor locks the parent first.
func (s *Service) lockFor(ctx context.Context, tx pgx.Tx, c tenancy.Caller, sessionID string, need permission) (db.Session, error) {
	if c.Participant == nil {
		return LockTx(ctx, tx, c.TenantID, sessionID)
	}
	inParent := c.Participant.RoomID != sessionID
	if inParent {
		if _, err := getBreakout(ctx, db.New(tx), c.TenantID, c.Participant.RoomID, sessionID); err != nil {
			return db.Session{}, err
		}
		if _, err := LockTx(ctx, tx, c.TenantID, c.Participant.RoomID); err != nil {
			return db.Session{}, err
		}
	}
	row, err := LockTx(ctx, tx, c.TenantID, sessionID)
	if err != nil {
		return row, err
	}
	role, err := roleOf(ctx, tx, c, row)
	if err != nil {
		return row, err
	}
	return row, checkPermission(role, need)
}

// roleOf is the calling participant's role in a session: the higher of the role in
// its own row and its moderator role in the parent session. A moderator of the
// parent moderates its breakout rooms too.
func roleOf(ctx context.Context, tx pgx.Tx, c tenancy.Caller, row db.Session) (string, error) {
	rooms := []string{row.ID}
	if row.ParentSessionID != nil {
		rooms = append(rooms, *row.ParentSessionID)
	}
	role, waits := "", false
	for _, room := range rooms {
		p, err := getParticipant(ctx, db.New(tx), c.TenantID, room, c.Participant.UserID)
		switch {
		case problem.Is(err, "not_found") || err == nil && p.State == Kicked:
		case err != nil:
			return "", err
		case p.State == Waiting:
			waits = waits || room == row.ID
		case room == row.ID || Moderates(p.Role):
			role = higherRole(role, p.Role)
		}
	}
	switch {
	case role != "":
		return role, nil
	case waits:
		return "", problem.New(problem.Forbidden, "forbidden", "you are in the waiting room")
	case c.Participant.RoomID == row.ID:
		return "", problem.New(problem.Forbidden, "forbidden", "you were kicked from this session")
	default: // a guest of the parent who isn't invited to this breakout room
		return "", problem.Missing("session")
	}
}
