package session

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// GetSpeaker returns a live session and one of its participants who may speak, for words of this participant. A participant token is
// for its own user only, who must be in the room; for another user the problem is forbidden, and
// muted if a moderator has muted it.
func (s *Service) GetSpeaker(
	ctx context.Context, q *db.Queries, c tenancy.Caller, sessionID, userID string,
) (db.Session, db.Participant, error) {
	row, err := get(ctx, q, c.TenantID, sessionID)
	if err != nil {
		return row, db.Participant{}, err
	}
	own := c.Participant != nil
	if own && c.Participant.RoomID != sessionID && (row.ParentSessionID == nil || *row.ParentSessionID != c.Participant.RoomID) {
		return row, db.Participant{}, problem.Missing("session")
	}
	if own && c.Participant.UserID != userID {
		return row, db.Participant{}, problem.New(problem.Forbidden, "forbidden", "you can only publish your own words")
	}
	p, err := getParticipant(ctx, q, c.TenantID, sessionID, userID)
	if problem.Is(err, "not_found") && own {
		if c.Participant.RoomID != sessionID {
			return row, p, problem.Missing("session") // a breakout room to which the user isn't invited
		}
		return row, p, problem.New(problem.Forbidden, "forbidden", "you are not in this session")
	}
	if err != nil {
		return row, p, err
	}
	if !PermsOf(p).Audio {
		return row, p, problem.New(problem.Forbidden, "forbidden", "this user may not speak in the session")
	}
	if err := checkLive(row); err != nil {
		return row, p, err
	}
	switch {
	case own && p.State != Joined:
		return row, p, problem.New(problem.Forbidden, "forbidden", "you are not in this session")
	case own && p.Silenced:
		return row, p, problem.New(problem.Forbidden, "muted", "a moderator has muted you")
	}
	return row, p, nil
}

// FindSession returns one of the tenant's sessions.
func (s *Service) FindSession(ctx context.Context, tenantID, sessionID string) (db.Session, error) {
	return get(ctx, db.New(s.config.Pool), tenantID, sessionID)
}

// FindTx returns one of the tenant's sessions, as a transaction sees it.
func FindTx(ctx context.Context, tx pgx.Tx, tenantID, sessionID string) (db.Session, error) {
	return get(ctx, db.New(tx), tenantID, sessionID)
}

// NameOf returns the name of a participant, who may have left the room: the user id without a name.
func (s *Service) NameOf(ctx context.Context, tenantID, roomID, userID string) (string, error) {
	p, err := getParticipant(ctx, db.New(s.config.Pool), tenantID, roomID, userID)
	if err != nil || p.DisplayName == nil || *p.DisplayName == "" {
		return userID, err
	}
	return *p.DisplayName, nil
}

// Beginning is when a session started; when it was created, if it hasn't started.
func Beginning(row db.Session) time.Time {
	if row.StartedAt != nil {
		return *row.StartedAt
	}
	return row.CreatedAt
}
