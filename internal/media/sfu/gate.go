package sfu

import "context"

// Perms is what a participant may publish.
type Perms struct {
	Audio  bool `json:"audio"`
	Video  bool `json:"video"`
	Screen bool `json:"screen"`
}

// any tells whether its holder may publish anything.
func (p Perms) any() bool { return p.Audio || p.Video || p.Screen }

// Kinds of rooms.
const (
	SessionRoom = "session"
	StreamRoom  = "stream"
)

// Roles that are told of everybody, and the state of those who are told of nobody.
const (
	roleHost     = "host"
	roleCohost   = "cohost"
	stateWaiting = "waiting"
)

// Grant is how a participant stands in a room now.
type Grant struct {
	TenantID, RoomID, UserID string
	// ConnID is the one connection that counts; empty when the gate doesn't say.
	ConnID      string
	DisplayName string
	Role        string
	Perms       Perms
	// State is "joined", or "waiting" for one who hears and sees nothing yet.
	State string
	// Muted: the participant's microphone isn't heard.
	Muted, HandRaised bool
	// Silenced: a moderator muted the participant. The sound of its screen isn't heard
	// either, until it unmutes.
	Silenced bool
	// Gone is the code of the bye for one who can't be in the room (any more).
	Gone string
	Room RoomInfo
}

func (g Grant) moderates() bool { return g.Role == roleHost || g.Role == roleCohost }
func (g Grant) waits() bool     { return g.State == stateWaiting }

// RoomInfo is what clients are told of a room.
type RoomInfo struct {
	// Kind is SessionRoom or StreamRoom.
	Kind string
	// Session is written as JSON into welcome and session messages; nil for none.
	// Values must be comparable.
	Session map[string]any
}

// Entry is somebody who wants to come in.
type Entry struct {
	Token, RoomID string
	// ConnID names the connection, unique over restarts and processes.
	ConnID string
}

// Connection is one that a Gate let in.
type Connection struct{ TenantID, RoomID, UserID, ConnID string }

// Refusal tells a client why it can't be in a room.
type Refusal struct { //nolint:errname // it is an answer to a client first
	// Code is one of the bye codes.
	Code    string
	Message string
	// SFUURL is the server that has the room, with code "moved".
	SFUURL string
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// Gate decides who may be in which room, and writes down who is. Its methods are
// called from many goroutines.
type Gate interface {
	// Identify tells for which room a token was issued. It looks at the token alone, without
	// a query. A *Refusal says that the token isn't valid.
	Identify(ctx context.Context, token string) (roomID string, err error)
	// Enter lets a connection in, or lets it wait. A *Refusal reaches the client as it
	// is, any other error as a failure of the server. What becomes of it later,
	// Server.Apply is told. With an error, a grant that names a user says that the
	// connection may have been let in all the same: it is left then.
	Enter(ctx context.Context, e Entry) (Grant, error)
	// Entered tells that a connection that was let in is in its room now, and has the
	// server told by Server.Apply how it stands: what has changed since Enter answered
	// may have found nobody here. It returns once that is done, or when ctx ends.
	Entered(ctx context.Context, c Connection)
	// Leave tells that a connection that was let in is gone for good. It is called
	// again when it fails.
	Leave(ctx context.Context, c Connection) error
	// SetMuted writes down that a participant muted its microphone, or undid it; the
	// server hears of the result by Server.Apply.
	SetMuted(ctx context.Context, c Connection, muted bool) error
}

// Codes of bye, of which a Refusal or a Grant's Gone has one.
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

// Codes of errors and refused tracks, besides those that bye has too.
const (
	codeUnsupported = "unsupported_codec"
	codeTooMany     = "too_many"
	codeNotFound    = "not_found"
	codeWaits       = "waiting"
)

// retryable tells whether a client may come again by itself after a bye.
func retryable(code string) bool {
	switch code {
	case CodeShutdown, CodeSlow, CodeRateLimited, CodeMoved, CodeInternal:
		return true
	}
	return false
}

// byeText is what the bye of a code says when nobody said it better.
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
		return "the connection takes in too little"
	case CodeRateLimited:
		return "too many messages"
	case CodeInternal:
		return "the server failed; try again"
	}
	return "you may not be in the room"
}
