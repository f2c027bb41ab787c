package session

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"showfloor/gen/db"
	"showfloor/internal/problem"
)

// mostBreakouts is the maximum number of open breakout rooms of one session.
const mostBreakouts = 100

// rank orders the roles from the one with the fewest permissions to the host.
func rank(role string) int { return slices.Index([]string{Viewer, Guest, Cohost, Host}, role) }

func mightier(a, b string) string {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// mayDo refuses a participant whose role lacks the required power.
func mayDo(role string, need power) error {
	switch {
	case need == moderation && !Moderates(role):
		return problem.New(problem.Forbidden, "forbidden", "only the host and cohosts may do this")
	case need == hosting && role != Host:
		return problem.New(problem.Forbidden, "forbidden", "only the host may do this")
	default:
		return nil
	}
}

// checkLive refuses an operation that requires a live session.
func checkLive(s db.Session) error {
	if s.State == Ringing {
		return problem.Conflicting("the call is not answered yet")
	}
	return checkOpen(s)
}

// mayBeRole refuses a change from or to the role host: a session has one host.
func mayBeRole(p db.Participant, role string) error {
	switch {
	case p.Role == role:
		return nil
	case p.Role == Host:
		return problem.Conflicting("the host stays the host")
	case role == Host:
		return problem.Conflicting("the session has a host already")
	default:
		return nil
	}
}

// checkIn refuses a participant who was kicked.
func checkIn(p db.Participant) error {
	if p.State == Kicked {
		return problem.Conflicting("the participant was thrown out")
	}
	return nil
}

// mayPromote refuses a promotion to a role with fewer permissions.
func mayPromote(p db.Participant, role string) error {
	if err := checkIn(p); err != nil {
		return err
	}
	if rank(p.Role) > rank(role) {
		return problem.Conflicting("the participant is a %s already; a promotion takes nothing away", p.Role)
	}
	return nil
}

// mayKick refuses to kick the host.
func mayKick(p db.Participant) error {
	if p.Role == Host {
		return problem.Conflicting("the host can't be thrown out")
	}
	return nil
}

// mayRaiseHand refuses participants in the waiting room or kicked ones: the raised
// hand would be invisible to the others.
func mayRaiseHand(s db.Session, p db.Participant) error {
	if err := checkLive(s); err != nil {
		return err
	}
	if p.State == Waiting {
		return problem.Conflicting("the participant is in the waiting room")
	}
	return checkIn(p)
}

// mayBreakOut refuses to open breakout rooms for calls, breakout rooms and
// sessions that aren't live.
func mayBreakOut(s db.Session) error {
	switch {
	case s.Type == Call:
		return problem.Conflicting("a call has no breakout rooms")
	case s.ParentSessionID != nil:
		return problem.Conflicting("a breakout room has none of its own")
	default:
		return checkLive(s)
	}
}

// readAssignments returns the assigned users by room; index 0 is room "1".
func readAssignments(count int, assignments map[string][]string) ([][]string, error) {
	rooms := make([][]string, count)
	for i := range rooms {
		rooms[i] = []string{}
	}
	fault := problem.New(problem.Invalid, "invalid_input", "the request is not valid")
	at := map[string]string{}
	for _, number := range slices.SortedFunc(maps.Keys(assignments), byNumber) {
		field := "assignments." + number
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > count || strconv.Itoa(n) != number {
			fault.Fields = append(fault.Fields, problem.Field{Field: field, Message: fmt.Sprintf("there is no such room: they are 1 to %d", count)})
			continue
		}
		for _, user := range assignments[number] {
			switch before, twice := at[user]; {
			case !twice:
				at[user] = number
				rooms[n-1] = append(rooms[n-1], user)
			case before != number:
				fault.Fields = append(fault.Fields, problem.Field{Field: field, Message: fmt.Sprintf("%q is in room %s already", user, before)})
			}
		}
	}
	if len(fault.Fields) > 0 {
		return nil, fault
	}
	return rooms, nil
}

// byNumber orders decimal numbers without leading zeros by value.
func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	if a < b {
		return -1
	}
	return 1
}

// breakoutName is the name of a session's n-th breakout room.
func breakoutName(parent string, n int32) string { return fmt.Sprintf("%s – Breakout %d", parent, n) }
