package session

import "time"

// Why a participant can't be in a room, or no longer.
const (
	GoneKicked    = "kicked"
	GoneEnded     = "ended"
	GoneReplaced  = "replaced"  // the user entered by another connection
	GoneSuspended = "suspended" // the tenant is suspended
	GoneMoved     = "moved"     // another node has the room now
	GoneUnknown   = "unknown"   // there is no such participant
)

// Ticket is the content of a participant token with a valid signature: which user
// may ask to enter which room. The permissions there are in Grant.
type Ticket struct {
	TenantID, RoomID, UserID string
	ExpiresAt                time.Time
}

// Grant is a participant's current role, permissions and state in a room.
type Grant struct {
	TenantID, RoomID, UserID string
	// DisplayName is the user's id if the user has no name.
	DisplayName string
	Role        string
	Perms       Perms
	// State is one of the participants' states.
	State string
	// Muted: the participant's microphone must not be forwarded.
	Muted bool
	// Silenced: a moderator muted the participant, so its screen audio must not be
	// forwarded either.
	Silenced bool
	// HandRaised and Session are set by GetGrant and ListGrants only.
	HandRaised bool
	// Session is the session as participants see it; nil in a stream's room.
	Session *Outline
	// ConnID is the participant's current connection; there is at most one.
	ConnID string
	// Gone is why the participant can't be in the room; empty if it can.
	Gone string
}

// Outline is a session as its participants see it.
type Outline struct {
	ID, Type, Name, State, Layout, HostID                       string
	Locked, WaitingRoom, RecordingEnabled, TranscriptionEnabled bool
	SpotlightUserID, ParentSessionID                            *string
	// RecordingID is the recording that is being made; nil if there is none.
	RecordingID *string
	// BroadcastID and BroadcastStreamID are those of the broadcast that hasn't ended; nil if there is none. OnAir: it is live.
	BroadcastID, BroadcastStreamID *string
	OnAir                          bool
}
