package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/event"
	"showfloor/internal/problem"
)

// Hold lets nobody else within this process change a room until it is released,
// so that what is told after a commit is told in the order of the commits. No
// transaction may be open.
func (s *Service) Hold(roomID string) (release func()) { return s.rooms.Hold(roomID) }

// Answer makes, in the caller's transaction, a call live that is locked and rings:
// the callee has come in by answering, and has a seat until its connection comes.
// It emits call.answered and session.started; tell tells those in the room, and is
// for after the commit.
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
