package jobs

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/riverqueue/river/rivertype"
)

// maxJobError is the maximum length of a job's error in the queue, in bytes.
const maxJobError = 4 << 10

// cleanErrors lets no error of a job disturb the queue: PostgreSQL stores no NUL, and would refuse the results of all jobs that end at the
// same time. Errors may hold texts of other servers.
func cleanErrors(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
	err := work(ctx)
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) <= maxJobError && utf8.ValidString(text) && !strings.ContainsRune(text, 0) {
		return err
	}
	text = strings.ReplaceAll(text[:min(len(text), maxJobError)], "\x00", " ")
	return cleanError{strings.ToValidUTF8(text, " "), err}
}

// cleanError is an error with another text.
type cleanError struct {
	text  string
	cause error
}

// Error implements error.
func (e cleanError) Error() string { return e.text }

// Unwrap returns the error with its own text.
func (e cleanError) Unwrap() error { return e.cause }
