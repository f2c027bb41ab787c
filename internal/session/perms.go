package session

import "showfloor/gen/db"

// Roles of participants, the one with the most permissions first.
const (
	Host   = "host"
	Cohost = "cohost"
	Guest  = "guest"
	Viewer = "viewer"
)

// States of participants.
const (
	Invited = "invited"
	Waiting = "waiting"
	Joined  = "joined"
	Left    = "left"
	Kicked  = "kicked"
)

// Types of sessions.
const (
	Conference = "conference"
	Webinar    = "webinar"
	Livestream = "livestream"
	Call       = "call"
)

// States of sessions. A ringing call has the state "waiting", as its callee has.
const (
	Ringing   = "waiting"
	Live      = "live"
	Ended     = "ended"
	Cancelled = "cancelled"
)

// Perms is what a participant may publish.
type Perms struct {
	Audio  bool `json:"audio"`
	Video  bool `json:"video"`
	Screen bool `json:"screen"`
}

// PermsOf is what a participant may publish now: nothing while it waits or after
// it was kicked; otherwise what its role permits, and the screen if its row
// permits it.
func PermsOf(p db.Participant) Perms {
	if p.State == Waiting || p.State == Kicked {
		return Perms{}
	}
	speaks := p.Role != Viewer
	return Perms{Audio: speaks, Video: speaks, Screen: p.CanPublishScreen}
}

// ScreenOf reports whether a role includes the permission to share the screen.
func ScreenOf(role string) bool { return role == Host || role == Cohost }

// Moderates reports whether a role may mute, spotlight and kick.
func Moderates(role string) bool { return role == Host || role == Cohost }
