package session

import "time"

// Why somebody can't be in a room (any more).
const (
	GoneKicked    = "kicked"
	GoneEnded     = "ended"
	GoneReplaced  = "replaced"  // the user came in by another connection
	GoneSuspended = "suspended" // the tenant is
	GoneMoved     = "moved"     // another node has the room now
	GoneUnknown   = "unknown"   // there is no such participant
)

// Ticket is what a participant token says once its signature is checked: who may
// ask to come in where. What its holder may do there, Grant says.
type Ticket struct {
	TenantID, RoomID, UserID string
	ExpiresAt                time.Time
}

// Grant is how a participant stands in a room now.
type Grant struct {
	TenantID, RoomID, UserID string
	// DisplayName is the user's id when none was given.
	DisplayName string
	Role        string
	Perms       Perms
	// State is one of the participants' states.
	State string
	// Muted: the participant's microphone must not be heard.
	Muted bool
	// Silenced: a moderator muted the participant, so the sound of its screen must not be
	// heard either.
	Silenced bool
	// HandRaised and Session are told by GetGrant and ListRoom only.
	HandRaised bool
	// Session is what those in the room are told of it; nil in a stream's room.
	Session *Outline
	// ConnID is the one connection that counts.
	ConnID string
	// Gone tells why the participant can't be in the room; empty for one who can.
	Gone string
}

// Outline is what those in a session's room are told of it.
type Outline struct {
	ID, Type, Name, State, Layout, HostID string
	Locked, WaitingRoom, RecordingEnabled bool
	SpotlightUserID, ParentSessionID      *string
}
