package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/event"
	"showfloor/internal/problem"
)

// Hold lets no other caller in this process change a room until release is called,
// so that publications after a commit follow the order of the commits. The caller
// must have no open transaction.
func (s *Service) Hold(roomID string) (release func()) { return s.rooms.Hold(roomID) }

// Answer makes a locked, ringing call live, in the caller's transaction. Answering
// admits the callee and holds a seat until its connection enters. Answer emits
// call.answered and session.started. Call tell after the commit: it publishes the
// changes in the room.
func (s *Service) Answer(
	ctx context.Context, tx pgx.Tx, row db.Session, c db.Call,
) (live db.Session, tell func(context.Context), err error) {
	now := s.config.Now()
	callee, err := LockParticipant(ctx, tx, row, c.ToUserID)
	if err != nil {
		return row, nil, err
	}
	if callee.State == Kicked {
		return row, nil, problem.New(problem.Forbidden, "forbidden", "the callee was thrown out of the call")
	}
	if err := letIn(ctx, tx, &row, &callee, now); err != nil {
		return row, nil, err
	}
	if callee.JoinedAt == nil {
		callee.JoinedAt = &now
	}
	if err := saveParticipants(ctx, tx, now, callee); err != nil {
		return row, nil, err
	}
	row.State, row.StartedAt, row.UpdatedAt = Live, &now, now
	if err := saveSession(ctx, tx, row); err != nil {
		return row, nil, err
	}
	if err := Changed(ctx, tx, row.ID, callee.UserID); err != nil {
		return row, nil, err
	}
	t := &told{}
	t.add(row, event.CallAnswered, CallDataOf(row, c))
	t.addSession(row, event.SessionStarted, func(d Data) any { return d })
	return row, func(ctx context.Context) { s.publish(ctx, t) }, s.emit(ctx, tx, t)
}
