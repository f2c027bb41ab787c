package session

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
