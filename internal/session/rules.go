package session

import (
	"time"

	"showfloor/gen/db"
	"showfloor/internal/problem"
)

const (
	// heldFor is how long a seat is kept for somebody who has a token and hasn't
	// come (back) yet.
	heldFor = 60 * time.Second
	// resumeFor is how long somebody whose connection is lost may take to be back
	// as the same participant.
	resumeFor = 30 * time.Second
)

// kind is what sessions of a type have unless something else is asked for.
type kind struct {
	layout string
	// capacity is also the most.
	capacity int32
	// role is that of whoever comes and isn't the host.
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

// DefaultLayout is that of a session of the type when nobody says otherwise.
func DefaultLayout(sessionType string) string { return kindOf(sessionType).layout }

// DefaultCapacity is also the most that the type may have.
func DefaultCapacity(sessionType string) int32 { return kindOf(sessionType).capacity }

// DefaultRole is that of whoever isn't the host.
func DefaultRole(sessionType string) string { return kindOf(sessionType).role }

// checkCapacity holds a wish against the type's most.
func checkCapacity(sessionType string, capacity int32) error {
	if most := kindOf(sessionType).capacity; capacity > most {
		return problem.BadField("capacity", "must be at most %d for a %s", most, sessionType)
	}
	return nil
}

// over tells whether a session in this state is past.
func over(state string) bool { return state == Ended || state == Cancelled }

// checkOpen refuses what needs a session that isn't over.
func checkOpen(s db.Session) error {
	if over(s.State) {
		return problem.Conflicting("the session has ended")
	}
	return nil
}

// checkHost refuses to let somebody else in as the host.
func checkHost(s db.Session, userID string, asked *string) error {
	if asked != nil && *asked == Host && userID != s.HostID {
		return problem.Conflicting("a session has one host, and this user isn't its hostId")
	}
	return nil
}

// newcomer is the participant as which a user comes first; asked is the role that
// the tenant's server gave it, nil for none, and parent its row in the parent of a
// breakout room, whose moderators are those of the breakout room too.
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
		return db.Participant{}, problem.New(problem.Forbidden, "forbidden", "only the two of a call can come in")
	case parent != nil && parent.State != Kicked && Moderates(parent.Role):
		role = Cohost
	}
	return db.Participant{
		TenantID: s.TenantID, RoomID: s.ID, UserID: userID, Role: role, CanPublishScreen: ScreenOf(role), State: Invited, Seat: seatNone,
	}, nil
}

// mayCome tells why a participant can't come in, nil when it can. Whether there is
// a seat is another question.
func mayCome(s db.Session, p db.Participant, now time.Time) error {
	if err := checkOpen(s); err != nil {
		return err
	}
	if p.State == Kicked {
		return problem.New(problem.Forbidden, "forbidden", "this user was thrown out of the session")
	}
	if s.Locked && !passesLock(p, now) {
		return problem.New(problem.Forbidden, "forbidden", "the session is locked")
	}
	return nil
}

// passesLock tells who is none of the new ones whom a lock keeps out: moderators,
// those inside, those whom a moderator has just admitted, and those who lost their
// connection a moment ago.
func passesLock(p db.Participant, now time.Time) bool {
	switch {
	case Moderates(p.Role), p.State == Joined:
		return true
	case p.Seat == seatHeld && p.Admitted:
		return p.SeatUntil.After(now)
	default:
		return back(p, now)
	}
}

// back tells who has lost its connection, or left, only a moment ago.
func back(p db.Participant, now time.Time) bool {
	return p.State == Left && p.LeftAt != nil && now.Sub(*p.LeftAt) <= resumeFor
}

// waits tells whether a participant who may come has to wait to be admitted; the
// callee of a call that rings does, whatever it may do in there, as it hasn't answered.
func waits(s db.Session, p db.Participant) bool {
	if s.State == Ringing {
		return p.UserID != s.HostID
	}
	return s.WaitingRoom && !p.Admitted && !Moderates(p.Role) && p.State != Joined
}
