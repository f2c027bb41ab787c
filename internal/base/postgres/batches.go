package postgres

import "fmt"

// batch is how many rows one statement of DeleteInBatches deletes. It is small
// enough that the statement is far from its time limit on any machine and holds
// no lock for long.
const batch = 5000

// DeleteInBatches calls del, which deletes at most maxRows rows, until it
// deletes fewer. what names the rows in the error. After an error, the rows
// deleted so far stay deleted.
func DeleteInBatches(what string, del func(maxRows int32) (int64, error)) error {
	for {
		n, err := del(batch)
		if err != nil {
			return fmt.Errorf("delete old %s: %w", what, err)
		}
		if n < batch {
			return nil
		}
	}
}
