package session

import (
	"slices"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// rank orders the roles from the one with the fewest permissions to the host.
func rank(role string) int { return slices.Index([]string{Viewer, Guest, Cohost, Host}, role) }

// higherRole returns the role with more permissions. An empty role has none.
func higherRole(a, b string) string {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// checkPermission refuses a participant whose role lacks the required permission.
func checkPermission(role string, need permission) error {
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

// checkRoleChange refuses a change from or to the role host: a session has one host.
func checkRoleChange(p db.Participant, role string) error {
	switch {
	case p.Role == role:
		return nil
	case p.Role == Host:
		return problem.Conflicting("the host's role can't be changed")
	case role == Host:
		return problem.Conflicting("the session has a host already")
	default:
		return nil
	}
}

// checkNotKicked refuses a participant who was kicked.
func checkNotKicked(p db.Participant) error {
	if p.State == Kicked {
		return problem.Conflicting("the participant was kicked")
	}
	return nil
}

// checkInRoom refuses a user who is no participant in the room: invited, waiting, left or kicked.
func checkInRoom(p db.Participant) error {
	if p.State != Joined {
		return problem.New(problem.NotFound, "not_found", "the participant is not in the room")
	}
	return nil
}

// canBeMuted reports whether a moderator's mute changes anything for a participant in the room.
func canBeMuted(p db.Participant) bool { return p.Role != Viewer && !p.Silenced }

// checkPromotion refuses a promotion to a role with fewer permissions.
func checkPromotion(p db.Participant, role string) error {
	if err := checkNotKicked(p); err != nil {
		return err
	}
	if rank(p.Role) > rank(role) {
		return problem.Conflicting("the participant is a %s already; a promotion can't lower the role", p.Role)
	}
	return nil
}

// checkKick refuses to kick the host.
func checkKick(p db.Participant) error {
	if p.Role == Host {
		return problem.Conflicting("the host can't be kicked")
	}
	return nil
}

// checkRaiseHand refuses participants in the waiting room or kicked ones: the raised
// hand would be invisible to the others.
func checkRaiseHand(s db.Session, p db.Participant) error {
	if err := checkLive(s); err != nil {
		return err
	}
	if p.State == Waiting {
		return problem.Conflicting("the participant is in the waiting room")
	}
	return checkNotKicked(p)
}
