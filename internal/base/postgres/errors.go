package postgres

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// SQLSTATEs that the program acts on.
const (
	uniqueViolation      = "23505"
	badEncoding          = "22021" // A NUL byte or invalid UTF-8 in text.
	untranslatable       = "22P05" // A NUL escape in jsonb.
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	readOnly             = "25006"
	lockNotAvailable     = "55P03" // lock_timeout was reached.
	cannotConnectNow     = "57P03" // The server starts, stops or recovers.
	// Classes of SQLSTATEs, each with all its states.
	connectionFailures    = "08"
	insufficientResources = "53"  // No connections, disk or memory left.
	operatorIntervention  = "57P" // The server or the session was shut down.
)

// IsUnique reports whether err is a violation of the named unique constraint or index, or of
// any if constraint is "".
func IsUnique(err error, constraint string) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failure.Code == uniqueViolation && (constraint == "" || failure.ConstraintName == constraint)
}

// UnstorableFault is the message for an input that isn't Storable. It follows the name of the input.
const UnstorableFault = "holds a character that can't be stored, such as NUL"

// Storable reports whether PostgreSQL can store a text: it must be UTF-8 without NUL.
func Storable(text string) bool { return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) }

// IsUnstorable reports whether the input contained text that text or jsonb can't store: a NUL
// character or invalid UTF-8. It is the client's mistake.
func IsUnstorable(err error) bool {
	switch sqlState(err) {
	case badEncoding, untranslatable:
		return true
	}
	return false
}

// isConflict reports whether the transaction may succeed if it runs again.
func isConflict(err error) bool {
	switch sqlState(err) {
	case serializationFailure, deadlockDetected:
		return true
	}
	return false
}

// isRefusedCommit reports whether the database has answered a commit with a rollback. An error
// that ends the session, such as a shutdown, can also follow a commit, so it is false for that.
// pgconn.SafeToRetry doesn't help: it is true for a connection lost after COMMIT was sent.
func isRefusedCommit(err error) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failure.SeverityUnlocalized == "ERROR" || errors.Is(err, pgx.ErrTxCommitRollback)
}

// IsUnavailable reports whether the database could not be reached, ended the
// connection for reasons of its own, or takes no writes: the same request may
// succeed a moment later. A transaction that was being committed may have been
// committed. It is false for a statement that the caller's context ended, and for
// failures of connections to other servers. Pools are made by Open, whose connections
// mark their errors.
func IsUnavailable(err error) bool { return Cause(err) != "" }

// Cause returns in one or two words why the database is unavailable, for logs. It returns ""
// for other errors.
func Cause(err error) string {
	switch state := sqlState(err); {
	case isAway(state), state != "" && isUnreachable(err):
		return "SQLSTATE " + state
	case isUnreachable(err):
		return "not reachable"
	case state == "" && isLost(err):
		return "connection lost"
	}
	return ""
}

func isAway(state string) bool {
	return state == readOnly || strings.HasPrefix(state, connectionFailures) ||
		strings.HasPrefix(state, insufficientResources) || strings.HasPrefix(state, operatorIntervention)
}

// isLost reports whether a statement failed because its connection to the database, and to no
// other server, was lost.
func isLost(err error) bool {
	_, lost := errors.AsType[*LostError](err)
	return lost || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, puddle.ErrClosedPool)
}

// isUnreachable reports whether no connection could be made.
func isUnreachable(err error) bool {
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	return refused
}

// sqlState returns the SQLSTATE in err, or "" if there is none.
func sqlState(err error) string {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code
	}
	return ""
}
