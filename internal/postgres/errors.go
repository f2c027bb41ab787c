package postgres

import (
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that the program acts on.
const (
	uniqueViolation      = "23505"
	badEncoding          = "22021" // A NUL byte or invalid UTF-8 in text.
	untranslatable       = "22P05" // A NUL escape in jsonb.
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	tooManyConnections   = "53300"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02" // Another backend crashed, all are ended.
	cannotConnectNow     = "57P03" // It starts, stops or recovers.
	connectionFailures   = "08"    // A class.
)

// IsUnique reports whether err is a violation of the named unique constraint or
// index; of any, when constraint is "".
func IsUnique(err error, constraint string) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failure.Code == uniqueViolation && (constraint == "" || failure.ConstraintName == constraint)
}

// IsUnstorable reports whether the input held something that text or jsonb
// can't store: a NUL character or invalid UTF-8. It is the sender's mistake.
func IsUnstorable(err error) bool {
	switch sqlState(err) {
	case badEncoding, untranslatable:
		return true
	}
	return false
}

// isConflict reports whether the transaction may well succeed when it runs
// again.
func isConflict(err error) bool {
	switch sqlState(err) {
	case serializationFailure, deadlockDetected:
		return true
	}
	return false
}

// IsUnavailable reports whether the database could not be reached, or ended the
// connection for reasons of its own: the same request may well succeed a moment
// later. What a transaction that was being committed came to is unknown then.
func IsUnavailable(err error) bool {
	if state := sqlState(err); state != "" {
		return isAway(state)
	}
	// A statement on a connection that is lost fails with what the network said.
	return isUnreachable(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, pgconn.ErrConnClosed)
}

func isAway(state string) bool {
	switch state {
	case tooManyConnections, adminShutdown, crashShutdown, cannotConnectNow:
		return true
	}
	return strings.HasPrefix(state, connectionFailures)
}

// isUnreachable reports whether no connection could be made.
func isUnreachable(err error) bool {
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	return refused
}

// sqlState returns the server's code in err, "" when it has none.
func sqlState(err error) string {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code
	}
	return ""
}
