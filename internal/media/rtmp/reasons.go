package rtmp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"showfloor/internal/media/hub"
)

// Reasons for the end of a session, apart from errors of the connection.
var (
	errFinished     = errors.New("the publisher finished")
	errNotPublished = errors.New("too many bytes before publishing")
	errConnect      = errors.New("connect expected")
)

// panicError is a panic in a session.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// handshakeError is a failed handshake.
type handshakeError struct{ error }

func (e *handshakeError) Unwrap() error { return e.error }

// crowdedError means that a connection is closed for lack of a place.
type crowdedError struct {
	reason      string // one of the reasons for metrics
	description string // the description sent to the client; empty: nothing is sent
}

func (e *crowdedError) Error() string { return "no place: " + e.reason }

// appError is a connect to an unknown application.
type appError struct {
	transaction float64
	app         string
}

func (e *appError) Error() string {
	return "InvalidApp: the application is unknown here, use /" + e.app
}

func isAppError(err error) bool {
	_, ok := errors.AsType[*appError](err)
	return ok
}

// farewell adds the last message to the client; false if there is none.
func (r *replies) farewell(err error) bool {
	if e, ok := errors.AsType[*appError](err); ok {
		r.connectRefused(e.transaction, e.Error())
		return true
	}
	if e, ok := errors.AsType[*StatusError](err); ok {
		r.status("error", e.Code, e.Description)
		return true
	}
	if e, ok := errors.AsType[*mediaError](err); ok {
		r.status("error", codeDenied, e.reason)
		return true
	}
	if e, ok := errors.AsType[*crowdedError](err); ok {
		r.status("error", codeDenied, e.description)
		return e.description != ""
	}
	switch {
	case errors.Is(err, errFinished):
		r.status("status", codeUnpublished, "The stream ended.")
	case errors.Is(err, hub.ErrReplaced):
		r.status("error", codeBadName, "Another encoder publishes this stream now.")
	case errors.Is(err, hub.ErrStopped):
		r.status("error", codeDenied, "The stream was stopped.")
	case errors.Is(err, hub.ErrClosed):
		r.status("error", codeShutdown, "The server is shutting down.")
	default:
		return false
	}
	return true
}

// refusedFor returns why a connection was not served, for metrics; empty if it ended by itself.
func refusedFor(err error) string {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Code
	}
	if _, ok := errors.AsType[*mediaError](err); ok {
		return "media"
	}
	if e, ok := errors.AsType[*crowdedError](err); ok {
		return e.reason
	}
	if _, ok := errors.AsType[*panicError](err); ok {
		return "panic"
	}
	if isAppError(err) {
		return "app"
	}
	switch {
	case err == nil, errors.Is(err, errFinished), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed),
		errors.Is(err, hub.ErrReplaced), errors.Is(err, hub.ErrStopped), errors.Is(err, hub.ErrClosed):
		return ""
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	}
	if _, ok := errors.AsType[*handshakeError](err); ok {
		return "handshake"
	}
	return "protocol"
}
