package session

import (
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

const (
	// reserveFor is how long a seat is reserved for a user who has a token and has not
	// entered yet, or has not come back yet.
	reserveFor = 60 * time.Second
	// resumeFor is how long after a lost connection a user may reconnect as the same
	// participant.
	resumeFor = 30 * time.Second
)

// kind holds the defaults of a session type.
type kind struct {
	layout string
	// capacity is the default and also the maximum.
	capacity int32
	// role is the default role of a user who isn't the host.
	role string
}

func kindOf(sessionType string) kind {
	return map[string]kind{
		Conference: {"grid", 50, Guest},
		Webinar:    {"speaker", 1000, Viewer},
		Livestream: {"spotlight", 10000, Viewer},
		Call:       {"speaker", 2, Guest},
	}[sessionType]
}

// DefaultLayout is the layout of a session of this type if none is requested.
func DefaultLayout(sessionType string) string { return kindOf(sessionType).layout }

// DefaultCapacity is the default, and also the maximum, for this type.
func DefaultCapacity(sessionType string) int32 { return kindOf(sessionType).capacity }

// DefaultRole is the role of a user who isn't the host.
func DefaultRole(sessionType string) string { return kindOf(sessionType).role }

// checkCapacity refuses a capacity above the type's maximum.
func checkCapacity(sessionType string, capacity int32) error {
	if most := kindOf(sessionType).capacity; capacity > most {
		return problem.BadField("capacity", "must be at most %d for a %s", most, sessionType)
	}
	return nil
}

// over reports whether a session in this state has ended.
func over(state string) bool { return state == Ended || state == Cancelled }

// checkOpen refuses an operation on a session that has ended.
func checkOpen(s db.Session) error {
	if over(s.State) {
		return problem.Conflicting("the session has ended")
	}
	return nil
}

// checkHost refuses the role host for a user who isn't the session's host.
func checkHost(s db.Session, userID string, asked *string) error {
	if asked != nil && *asked == Host && userID != s.HostID {
		return problem.Conflicting("a session has one host, and this user isn't its hostId")
	}
	return nil
}

// newcomer is the participant for a user who has none yet. asked is the role from
// the tenant's server, nil for none. parent is the user's row in the parent
// session if this is a breakout room: moderators of the parent moderate its
// breakout rooms too.
func newcomer(s db.Session, userID string, asked *string, parent *db.Participant) (db.Participant, error) {
	if err := checkHost(s, userID, asked); err != nil {
		return db.Participant{}, err
	}
	role := kindOf(s.Type).role
	if asked != nil {
		role = *asked
	}
	switch {
	case userID == s.HostID:
		role = Host
	case s.Type == Call:
		return db.Participant{}, problem.New(problem.Forbidden, "forbidden", "only the two parties of a call can enter")
	case parent != nil && parent.State != Kicked && Moderates(parent.Role):
		role = Cohost
	}
	return db.Participant{
		TenantID: s.TenantID, RoomID: s.ID, UserID: userID, Role: role, CanPublishScreen: ScreenOf(role), State: Invited, Seat: seatNone,
	}, nil
}

// checkEntry returns why a participant can't enter, nil if it can. It doesn't check
// for a free seat.
func checkEntry(s db.Session, p db.Participant, now time.Time) error {
	if err := checkOpen(s); err != nil {
		return err
	}
	if p.State == Kicked {
		return problem.New(problem.Forbidden, "forbidden", "this user was kicked from the session")
	}
	if s.Locked && !passesLock(p, now) {
		return problem.New(problem.Forbidden, "forbidden", "the session is locked")
	}
	return nil
}

// passesLock reports whether a participant may enter a locked session: moderators,
// participants who are inside, participants whom a moderator has just admitted, and
// participants who lost their connection less than resumeFor ago.
func passesLock(p db.Participant, now time.Time) bool {
	switch {
	case Moderates(p.Role), p.State == Joined:
		return true
	case p.Seat == seatHeld && p.Admitted:
		return p.SeatUntil.After(now)
	default:
		return mayResume(p, now)
	}
}

// mayResume reports whether a participant lost its connection, or left, at most
// resumeFor ago.
func mayResume(p db.Participant, now time.Time) bool {
	return p.State == Left && p.LeftAt != nil && now.Sub(*p.LeftAt) <= resumeFor
}

// waits reports whether a participant that may enter has to wait for admission.
// The callee of a ringing call waits until it answers, also if it is a moderator.
func waits(s db.Session, p db.Participant) bool {
	if s.State == Ringing {
		return p.UserID != s.HostID
	}
	return s.WaitingRoom && !p.Admitted && !Moderates(p.Role) && p.State != Joined
}
