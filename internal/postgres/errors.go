package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that the program acts on.
const (
	uniqueViolation      = "23505"
	badEncoding          = "22021" // A NUL byte or invalid UTF-8 in text.
	untranslatable       = "22P05" // A NUL escape in jsonb.
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
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

// sqlState returns the server's code in err, "" when it has none.
func sqlState(err error) string {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code
	}
	return ""
}
