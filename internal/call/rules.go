package call

import (
	"time"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/problem"
	"showfloor/internal/session"
)

// state is a call that is locked, at the moment at which it is judged.
type state struct {
	session db.Session
	call    db.Call
	// now is the database's clock.
	now time.Time
	// refusal is why what was asked isn't done, as the call stands.
	refusal error
}

// rings tells whether the call is still to be answered.
func (s state) rings() bool { return s.session.State == session.Ringing }

// rangOut tells whether it rings longer than it may: it is missed, though nobody
// has written it down yet.
func (s state) rangOut() bool { return s.rings() && !s.now.Before(s.call.RingExpiresAt) }

// cancelledAs tells whether the call was cancelled in this way.
func (s state) cancelledAs(how string) bool {
	return s.call.CancelledAs != nil && *s.call.CancelledAs == how
}

// errOver says why a call can't be answered or declined any more.
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

// isCallee refuses everybody else.
func (s state) isCallee(userID string) error {
	if userID != s.call.ToUserID {
		return problem.New(problem.Forbidden, "forbidden", "only the callee may do this")
	}
	return nil
}

// isParty refuses those whom the call is none of.
func (s state) isParty(userID string) error {
	if userID != s.call.ToUserID && userID != s.call.FromUserID {
		return problem.New(problem.Forbidden, "forbidden", "only the caller and the callee may do this")
	}
	return nil
}

// speaksFor refuses a participant who speaks in another's name. To it, other calls
// are as if they weren't there.
func speaksFor(c account.Caller, sessionID, userID string) error {
	switch {
	case c.Participant == nil:
		return nil
	case c.Participant.RoomID != sessionID:
		return problem.Missing("call")
	case c.Participant.UserID != userID:
		return problem.New(problem.Forbidden, "forbidden", "you can speak for yourself alone")
	default:
		return nil
	}
}
