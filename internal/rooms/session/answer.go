package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
)

// TakeTurn waits until no other caller in this process changes the room. Others wait
// until release is called, so that publications after a commit follow the order of the commits. The caller
// must have no open transaction. If ctx ends first, TakeTurn returns its error.
func (s *Service) TakeTurn(ctx context.Context, roomID string) (release func(), err error) {
	return s.rooms.Take(ctx, roomID)
}

// AnswerTx makes a locked, ringing call live, in the caller's transaction. Answering
// admits the callee and reserves a seat until its connection enters. AnswerTx emits
// call.answered and session.started, and publishes the changes in the room once tx
// is committed. It returns the live session.
func (s *Service) AnswerTx(ctx context.Context, tx pgx.Tx, row db.Session, c db.Call) (db.Session, error) {
	now := s.config.Now()
	callee, err := LockParticipantTx(ctx, tx, row, c.ToUserID)
	if err != nil {
		return row, err
	}
	if callee.State == Kicked {
		return row, problem.New(problem.Forbidden, "forbidden", "the callee was kicked from the call")
	}
	if err := admitParticipant(ctx, tx, &row, &callee, now); err != nil {
		return row, err
	}
	if callee.JoinedAt == nil {
		callee.JoinedAt = &now
	}
	if err := saveParticipants(ctx, tx, now, callee); err != nil {
		return row, err
	}
	row.State, row.StartedAt, row.UpdatedAt = Live, &now, now
	if err := saveSession(ctx, tx, row); err != nil {
		return row, err
	}
	if err := ChangedTx(ctx, tx, row.ID, callee.UserID); err != nil {
		return row, err
	}
	a := &announcements{}
	a.add(row, event.CallAnswered, eventdata.CallAnsweredData{CallEventData: callDataOf(row, c)})
	a.addSession(row, event.SessionStarted, func(d eventdata.SessionEventData) any {
		return eventdata.SessionStartedData{SessionEventData: d}
	})
	return row, s.announce(ctx, tx, a)
}
