package postgres

import "fmt"

// batch is how many rows one statement of DeleteInBatches deletes. It is small
// enough that the statement is far from its time limit on any machine and holds
// no lock for long.
const batch = 5000

// DeleteError is the error of DeleteInBatches. The rows deleted so far stay deleted.
type DeleteError struct {
	// Rows names the rows, such as "events".
	Rows string
	// Deleted is the number of rows that were deleted before the error.
	Deleted int64
	Err     error
}

// Error implements error.
func (e *DeleteError) Error() string {
	return fmt.Sprintf("delete old %s, after %d rows: %v", e.Rows, e.Deleted, e.Err)
}

// Unwrap returns the error of the statement.
func (e *DeleteError) Unwrap() error { return e.Err }

// DeleteInBatches calls del, which deletes at most maxRows rows, until it
// deletes fewer. what names the rows in the error, which is a *DeleteError.
func DeleteInBatches(what string, del func(maxRows int32) (int64, error)) error {
	for deleted := int64(0); ; {
		n, err := del(batch)
		if err != nil {
			return &DeleteError{Rows: what, Deleted: deleted, Err: err}
		}
		if n < batch {
			return nil
		}
		deleted += n
	}
}
