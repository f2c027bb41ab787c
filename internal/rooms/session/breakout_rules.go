package session

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// maxBreakouts is the maximum number of open breakout rooms of one session.
const maxBreakouts = 100

// checkBreakout refuses to open breakout rooms for calls, breakout rooms and
// sessions that aren't live.
func checkBreakout(s db.Session) error {
	switch {
	case s.Type == Call:
		return problem.Conflicting("a call has no breakout rooms")
	case s.ParentSessionID != nil:
		return problem.Conflicting("a breakout room can't have breakout rooms")
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
