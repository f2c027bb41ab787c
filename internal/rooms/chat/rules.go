package chat

import (
	"slices"
	"time"

	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

// checkReader checks that a user may read a channel. direct holds the two members
// of a direct channel, nil for other kinds.
func checkReader(direct []string, st userStatus) error {
	switch {
	case direct != nil && !slices.Contains(direct, st.UserID):
		return problem.New(problem.Forbidden, "forbidden", "this direct channel belongs to two other users")
	case st.Banned:
		return problem.New(problem.Forbidden, "banned", "this user is banned from the channel")
	case st.RoomState == session.Kicked:
		return problem.New(problem.Forbidden, "forbidden", "this user was kicked from the room")
	case st.RoomState == session.Waiting:
		return problem.New(problem.Forbidden, "forbidden", "this user waits to be admitted to the room")
	}
	return nil
}

// checkParticipant is checkReader for a calling participant, who must also have a
// row in the room. It permits the tenant's own server.
func checkParticipant(c tenancy.Caller, direct []string, st userStatus) error {
	if c.Participant == nil {
		return nil
	}
	if st.RoomState == "" {
		return problem.New(problem.Forbidden, "forbidden", "you are not in this room")
	}
	return checkReader(direct, st)
}

// checkAuthor checks that a user may write, except for the slow mode.
func checkAuthor(ch channel, st userStatus) error {
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

// checkPace enforces the slow mode on an author. Hosts and cohosts are exempt.
func checkPace(ch channel, st userStatus) error {
	if !paced(ch, st) || st.WroteAt == nil {
		return nil
	}
	left := st.WroteAt.Add(time.Duration(ch.SlowmodeSec) * time.Second).Sub(ch.Now)
	if left <= 0 {
		return nil
	}
	return problem.Limited(left, "slow mode: one message every %d seconds; write again in %d", ch.SlowmodeSec, seconds(left))
}

// paced reports whether the slow mode applies to this author.
func paced(ch channel, st userStatus) bool {
	return ch.SlowmodeSec > 0 && !session.Moderates(st.role(ch.HostID))
}

// checkModerator checks that the caller may moderate: the tenant's own server, or
// a participant who is host or cohost in the channel.
func checkModerator(c tenancy.Caller, ch channel, st userStatus) error {
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

// seconds rounds up, so that waiting this many seconds is always enough.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// mostAhead is how far the times of messages may be ahead of the clock.
const mostAhead = time.Second

// timeAfter is the time of a new message; last is the time of the previous one,
// nil for none. Times are at least 1 ms (the API's unit) apart, so that a reader
// can continue after a message by its time. If more than 1000 messages per second
// are written, times run ahead of the clock by at most mostAhead; then several
// messages share a time. Times never go back.
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
