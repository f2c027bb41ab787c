package call

import (
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

// state is a locked call at the moment of a decision.
type state struct {
	session db.Session
	call    db.Call
	// now is the database's clock.
	now time.Time
	// refusal is why the request isn't carried out in the call's present state.
	refusal error
}

// rings reports whether the call waits for an answer.
func (s state) rings() bool { return s.session.State == session.Ringing }

// rangOut reports whether the call has rung for too long: it counts as missed,
// although that isn't stored yet.
func (s state) rangOut() bool { return s.rings() && !s.now.Before(s.call.RingExpiresAt) }

// cancelledAs reports whether the call was cancelled for this reason.
func (s state) cancelledAs(how string) bool {
	return s.call.CancelledAs != nil && *s.call.CancelledAs == how
}

// errOver is why a call can no longer be answered or declined.
func (s state) errOver() error {
	switch {
	case s.session.State == session.Live:
		return problem.Conflicting("the call was answered already")
	case s.session.State == session.Ended:
		return problem.Conflicting("the call has ended")
	case s.cancelledAs(session.Declined):
		return problem.Conflicting("the call was declined")
	case s.cancelledAs(session.Missed):
		return problem.Conflicting("the call was missed: it rang for too long")
	default:
		return problem.Conflicting("the call was taken back")
	}
}

// isCallee refuses all users except the callee.
func (s state) isCallee(userID string) error {
	if userID != s.call.ToUserID {
		return problem.New(problem.Forbidden, "forbidden", "only the callee may do this")
	}
	return nil
}

// isParty refuses all users except the caller and the callee.
func (s state) isParty(userID string) error {
	if userID != s.call.ToUserID && userID != s.call.FromUserID {
		return problem.New(problem.Forbidden, "forbidden", "only the caller and the callee may do this")
	}
	return nil
}

// speaksFor refuses a participant that acts for another user. For a participant of
// another room the problem is not_found.
func speaksFor(c tenancy.Caller, sessionID, userID string) error {
	switch {
	case c.Participant == nil:
		return nil
	case c.Participant.RoomID != sessionID:
		return problem.Missing("call")
	case c.Participant.UserID != userID:
		return problem.New(problem.Forbidden, "forbidden", "you can only act for yourself")
	default:
		return nil
	}
}
