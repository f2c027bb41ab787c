package realtime

import (
	"github.com/centrifugal/centrifuge"

	"showfloor/internal/problem"
)

// Codes of the channel's own, in the ranges that the protocol leaves to servers:
// clients connect again after 4000 to 4499 and don't after 4500 to 4999; they
// subscribe again after 2500 and above, and don't below.
const (
	codeKicked    = 4500
	codeBanned    = 4501
	codeSuspended = 4502
	// codeReplaced is told to the oldest of too many connections of one user.
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

// errWaiting is the one refusal of a room that clients try again by themselves.
func errWaiting() *centrifuge.Error {
	return &centrifuge.Error{Code: errCodeWaiting, Message: "waiting to be admitted", Temporary: true}
}

// clientError is an error with a sentence of our own.
func clientError(like *centrifuge.Error, message string) *centrifuge.Error {
	return &centrifuge.Error{Code: like.Code, Message: message, Temporary: like.Temporary}
}

// Problem codes that tell of an end, not of a fault.
const (
	problemTokenExpired    = "token_expired"
	problemKeyExpired      = "key_expired"
	problemTenantSuspended = "tenant_suspended"
)

// expired tells whether the credential was good and its time is over.
func expired(p *problem.Error) bool {
	return p.Kind == problem.Unauthenticated && (p.Code == problemTokenExpired || p.Code == problemKeyExpired)
}

// refusal is the answer to a connect command whose token was refused with err:
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

// ending is the disconnection of somebody whose token isn't good any more.
func ending(p *problem.Error) centrifuge.Disconnect {
	switch {
	case expired(p):
		// Clients come back, are told 109 and fetch another token, if they can.
		return centrifuge.DisconnectExpired
	case p.Code == problemTenantSuspended:
		return disconnection(codeSuspended, "tenant suspended")
	case p.Kind == problem.Forbidden:
		return centrifuge.DisconnectPermissionDenied
	default:
		return centrifuge.DisconnectInvalidToken
	}
}

// out is the disconnection of a participant who may not be connected at all in
// this state; ok is false for those who may.
func (s Standing) out() (d centrifuge.Disconnect, ok bool) {
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
