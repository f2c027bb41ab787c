package sfu

import "context"

// Perms are the sources that a participant may publish.
type Perms struct {
	Audio  bool `json:"audio"`
	Video  bool `json:"video"`
	Screen bool `json:"screen"`
}

// any reports whether the participant may publish anything.
func (p Perms) any() bool { return p.Audio || p.Video || p.Screen }

// Kinds of rooms.
const (
	SessionRoom = "session"
	StreamRoom  = "stream"
)

// Roles that are informed of every member, and the state of participants in the waiting room.
const (
	roleHost     = "host"
	roleCohost   = "cohost"
	stateWaiting = "waiting"
)

// Grant is the current role, permissions and state of a participant in a room.
type Grant struct {
	TenantID, RoomID, UserID string
	// ConnID is the user's only valid connection; empty when the gate doesn't know it.
	ConnID      string
	DisplayName string
	Role        string
	Perms       Perms
	// State is "joined", or "waiting" for a participant that receives no media yet.
	State string
	// Muted: the participant's microphone is muted.
	Muted, HandRaised bool
	// Silenced: a moderator muted the participant. The audio of its screen is muted too, until the
	// participant unmutes.
	Silenced bool
	// Gone is the code of the bye for a participant that must leave the room.
	Gone string
	Room RoomInfo
}

func (g Grant) moderates() bool { return g.Role == roleHost || g.Role == roleCohost }
func (g Grant) waits() bool     { return g.State == stateWaiting }

// RoomInfo is the information on a room that clients receive.
type RoomInfo struct {
	// Kind is SessionRoom or StreamRoom.
	Kind string
	// Session is written as JSON into welcome and session messages; nil for none.
	// Values must be comparable.
	Session map[string]any
	// RecordingID is the recording that is being made of the room, "" for none; nil if the gate doesn't know it.
	RecordingID *string
	// Broadcast is the broadcast of the room into a stream, without an id for none; nil if the gate doesn't know it.
	Broadcast *BroadcastInfo
}

// Entry is a request to enter a room.
type Entry struct {
	Token, RoomID string
	// ConnID identifies the connection, unique over restarts and processes.
	ConnID string
	// Watches is set for a watcher, see Config.MaxWatchers: a viewer that plays the stream by HLS until it has entered.
	Watches bool
}

// Connection is a connection that a Gate admitted.
type Connection struct{ TenantID, RoomID, UserID, ConnID string }

// ClientError is the reason why a client can't be in a room. The client receives it as a bye.
type ClientError struct {
	// Code is one of the bye codes.
	Code    string
	Message string
	// SFUURL is the URL of the server that has the room, with code "moved".
	SFUURL string
}

func (r *ClientError) Error() string { return r.Code + ": " + r.Message }

// Gate decides which participants may be in which room, and stores who is there. Its methods are
// called concurrently.
type Gate interface {
	// Identify returns the tenant and the room that a token was issued for. It checks the token alone,
	// without a query. A *ClientError means that the token isn't valid.
	Identify(ctx context.Context, token string) (tenantID, roomID string, err error)
	// Enter lets a connection into the room or its waiting room. A *ClientError is sent to the client;
	// any other error is reported as an internal error. Later changes of the grant arrive by
	// Server.Apply. If it returns an error and a grant with a UserID, the connection may have been
	// admitted all the same; Leave is called for it then.
	Enter(ctx context.Context, e Entry) (Grant, error)
	// Entered is called when an admitted connection has joined its room. It must pass the current
	// grant to Server.Apply: a change after Enter returned may have come before the connection was
	// in the room. It returns when that is done, or when ctx ends.
	Entered(ctx context.Context, c Connection)
	// Leave is called when an admitted connection has ended and was not replaced. It is called
	// again if it fails.
	Leave(ctx context.Context, c Connection) error
	// SetMuted stores whether a participant muted its microphone. The result arrives by
	// Server.Apply.
	SetMuted(ctx context.Context, c Connection, muted bool) error
}

// Codes of a bye: in ClientError.Code and Grant.Gone.
const (
	CodeKicked          = "kicked"
	CodeEnded           = "ended"
	CodeReplaced        = "replaced"
	CodeSessionFull     = "session_full"
	CodeLocked          = "locked"
	CodeForbidden       = "forbidden"
	CodeUnauthenticated = "unauthenticated"
	CodeTokenExpired    = "token_expired"
	CodeMoved           = "moved"
	CodeSuspended       = "suspended"
	CodeShutdown        = "shutdown"
	CodeSlow            = "slow"
	CodeBadMessage      = "bad_message"
	CodeRateLimited     = "rate_limited"
	CodeInternal        = "internal"
)

// Further codes of errors and refused tracks, which no bye has.
const (
	codeUnsupported = "unsupported_codec"
	codeTooMany     = "too_many"
	codeNotFound    = "not_found"
	codeWaits       = "waiting"
)

// retryable reports whether a client may reconnect by itself after a bye.
func retryable(code string) bool {
	switch code {
	case CodeShutdown, CodeSlow, CodeRateLimited, CodeMoved, CodeInternal:
		return true
	}
	return false
}

// byeText is the default text of a bye, for a ClientError without a message.
func byeText(code string) string {
	switch code {
	case CodeKicked:
		return "you were removed from the room"
	case CodeEnded:
		return "the room has ended"
	case CodeReplaced:
		return "you came in by another connection"
	case CodeSessionFull:
		return "the session is full"
	case CodeLocked:
		return "the session is locked"
	case CodeUnauthenticated:
		return "the token is not valid"
	case CodeTokenExpired:
		return "the token has expired"
	case CodeMoved:
		return "the room is on another server"
	case CodeSuspended:
		return "the account is suspended"
	case CodeShutdown:
		return "the server is stopping"
	case CodeSlow:
		return "the connection is too slow to receive the messages"
	case CodeRateLimited:
		return "too many messages"
	case CodeInternal:
		return "the server failed; try again"
	}
	return "you may not be in the room"
}
