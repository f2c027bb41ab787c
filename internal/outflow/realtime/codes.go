package realtime

import (
	"github.com/centrifugal/centrifuge"

	"showfloor/internal/base/problem"
)

// Codes of our own, in the ranges that the protocol reserves for servers. Clients
// reconnect after disconnect codes 4000 to 4499, and do not after 4500 to 4999.
// They subscribe again after unsubscribe codes from 2500, and do not after lower
// ones.
const (
	codeKicked    = 4500
	codeBanned    = 4501
	codeSuspended = 4502
	// codeReplaced goes to the oldest connection of a user who has too many.
	codeReplaced = 4503

	codeRoomEnded   = 2100
	codeRoomWaiting = 2101

	errCodeWaiting = 425
)

func disconnection(code uint32, reason string) centrifuge.Disconnect {
	return centrifuge.Disconnect{Code: code, Reason: reason}
}

func unsubscription(code uint32, reason string) centrifuge.Unsubscribe {
	return centrifuge.Unsubscribe{Code: code, Reason: reason}
}

// errWaiting is the only refusal of a subscription that clients retry by
// themselves.
func errWaiting() *centrifuge.Error {
	return &centrifuge.Error{Code: errCodeWaiting, Message: "waiting to be admitted", Temporary: true}
}

// clientError is a protocol error with a message of our own.
func clientError(like *centrifuge.Error, message string) *centrifuge.Error {
	return &centrifuge.Error{Code: like.Code, Message: message, Temporary: like.Temporary}
}

// Problem codes that report an expiry or a suspension, not a fault.
const (
	problemTokenExpired    = "token_expired"
	problemKeyExpired      = "key_expired"
	problemTenantSuspended = "tenant_suspended"
)

// expired reports whether the credential was valid and has expired.
func expired(p *problem.Error) bool {
	return p.Kind == problem.Unauthenticated && (p.Code == problemTokenExpired || p.Code == problemKeyExpired)
}

// refusal converts err to the answer to a connect command whose token was refused:
// an error or a disconnection of the protocol.
func refusal(err error) error {
	p, ok := problem.As(err)
	switch {
	case !ok || p.Kind == problem.Unavailable:
		return centrifuge.ErrorInternal
	case expired(p):
		return centrifuge.ErrorTokenExpired
	case p.Kind == problem.RateLimited:
		return clientError(centrifuge.ErrorTooManyRequests, p.Message)
	default:
		return ending(p)
	}
}

// ending is the disconnection of a client whose token is no longer valid.
func ending(p *problem.Error) centrifuge.Disconnect {
	switch {
	case expired(p):
		// Clients reconnect, receive error 109 and fetch another token, if they can.
		return centrifuge.DisconnectExpired
	case p.Code == problemTenantSuspended:
		return disconnection(codeSuspended, "tenant suspended")
	case p.Kind == problem.Forbidden:
		return centrifuge.DisconnectPermissionDenied
	default:
		return centrifuge.DisconnectInvalidToken
	}
}

// out returns the disconnection for a participant that may not be connected in
// this state; ok is false if it may.
func (s Participant) out() (d centrifuge.Disconnect, ok bool) {
	switch s.State {
	case Kicked:
		return disconnection(codeKicked, "kicked"), true
	case Banned:
		return disconnection(codeBanned, "banned"), true
	case Suspended:
		return disconnection(codeSuspended, "tenant suspended"), true
	case Unknown:
		return centrifuge.DisconnectInvalidToken, true
	default:
		return d, false
	}
}
