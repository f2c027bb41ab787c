package postgres

import "fmt"

// batch is how many rows one statement of DeleteInBatches deletes: far from its
// time limit on any machine, and no lock is held for long.
const batch = 5000

// DeleteInBatches runs del, which deletes at most maxRows of what is named what,
// until it finds fewer. What it has deleted when it fails stays deleted.
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
