package chat

import (
	"slices"
	"time"

	"showfloor/internal/account"
	"showfloor/internal/problem"
	"showfloor/internal/session"
)

// checkReader tells whether a user may read in a channel; direct are the two of a
// direct one, nil for other kinds.
func checkReader(direct []string, st standing) error {
	switch {
	case direct != nil && !slices.Contains(direct, st.UserID):
		return problem.New(problem.Forbidden, "forbidden", "this direct channel is for two others")
	case st.Banned:
		return problem.New(problem.Forbidden, "banned", "this user is banned from the channel")
	case st.RoomState == session.Kicked:
		return problem.New(problem.Forbidden, "forbidden", "this user was sent out of the room")
	case st.RoomState == session.Waiting:
		return problem.New(problem.Forbidden, "forbidden", "this user waits to be let into the room")
	}
	return nil
}

// checkParticipant is checkReader for the one whose token is shown, who must be
// known in the room.
func checkParticipant(c account.Caller, direct []string, st standing) error {
	if c.Participant == nil {
		return nil
	}
	if st.RoomState == "" {
		return problem.New(problem.Forbidden, "forbidden", "you are not in this room")
	}
	return checkReader(direct, st)
}

// checkAuthor tells whether a user may say something, slow mode apart.
func checkAuthor(ch channel, st standing) error {
	if err := checkReader(ch.DirectUserIds, st); err != nil {
		return err
	}
	switch {
	case ch.Over:
		return problem.Conflicting("the session is over")
	case st.Muted:
		return problem.New(problem.Forbidden, "muted", "this user is muted in the channel")
	case st.TimedOutUntil != nil && ch.Now.Before(*st.TimedOutUntil):
		return problem.New(problem.Forbidden, "timed_out", "this user can't write for another %d seconds", seconds(st.TimedOutUntil.Sub(ch.Now)))
	}
	return nil
}

// checkPace holds an author against the slow mode, which hosts and cohosts are
// exempt from.
func checkPace(ch channel, st standing) error {
	if !paced(ch, st) || st.WroteAt == nil {
		return nil
	}
	left := st.WroteAt.Add(time.Duration(ch.SlowmodeSec) * time.Second).Sub(ch.Now)
	if left <= 0 {
		return nil
	}
	return problem.Limited(left, "slow mode: one message every %d seconds; write again in %d", ch.SlowmodeSec, seconds(left))
}

// paced tells whether the slow mode is for this author.
func paced(ch channel, st standing) bool {
	return ch.SlowmodeSec > 0 && !session.Moderates(st.role(ch.HostID))
}

// checkModerator tells whether the caller may moderate: a tenant's server may, a
// participant if it is a host or cohost there.
func checkModerator(c account.Caller, ch channel, st standing) error {
	if c.Participant == nil {
		return nil
	}
	if err := checkParticipant(c, ch.DirectUserIds, st); err != nil {
		return err
	}
	if !session.Moderates(st.role(ch.HostID)) {
		return problem.New(problem.Forbidden, "forbidden", "only hosts and cohosts of this room may do this")
	}
	return nil
}

// seconds rounds up, so that whoever waits that long has waited long enough.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// mostAhead is how far times of messages may run ahead of the clock.
const mostAhead = time.Second

// timeAfter is the time of a message that follows one of the time last; nil for
// none. Each is a millisecond, the API's unit, behind the one before, so that a time
// tells messages apart too; where more than a thousand a second are written it isn't
// kept up for long, and some share one. It never goes back.
func timeAfter(last *time.Time, now time.Time) time.Time {
	at := now.Truncate(time.Millisecond)
	if last == nil || last.Before(at) {
		return at
	}
	if next := last.Add(time.Millisecond); next.Sub(now) <= mostAhead {
		return next
	}
	return *last
}
