package secret

import (
	"context"
	"errors"
	"fmt"
)

// ResealBatch is the number of rows that one query of Resealing reads.
const ResealBatch = 200

// Resealing seals the values of one table with the first master key, in batches. It
// skips values that this key has sealed already, so it may be killed and run again.
type Resealing[Row any] struct {
	// Table names the rows, for errors.
	Table string
	// List returns the next rows that another key has sealed, at most ResealBatch, in the
	// order of Key, after the given key ("" for the beginning).
	List func(ctx context.Context, after string) ([]Row, error)
	// Key returns the row's key.
	Key func(Row) string
	// Replace seals the row's values again and writes them, if they are still the same in
	// the database. It may return ErrUnopened.
	Replace func(ctx context.Context, row Row) error
}

// Resealed counts the results of Resealing.Run.
type Resealed struct {
	// Done counts rows that were sealed again.
	Done int
	// Unopened are the keys of the first rows, at most 10, that none of the master keys
	// opens; Failed is their number.
	Unopened []string
	Failed   int
}

// maxUnopened bounds Resealed.Unopened.
const maxUnopened = 10

// ErrUnopened is a value that none of the master keys opens.
var ErrUnopened = errors.New("no master key opens the value")

// Run processes the table once. It calls progress after each batch with the number of
// rows so far.
func (r Resealing[Row]) Run(ctx context.Context, progress func(rows int)) (result Resealed, err error) {
	after := ""
	for {
		rows, err := r.List(ctx, after)
		if err != nil {
			return result, fmt.Errorf("list %s: %w", r.Table, err)
		}
		for _, row := range rows {
			after = r.Key(row)
			switch err := r.Replace(ctx, row); {
			case errors.Is(err, ErrUnopened):
				if result.Failed++; len(result.Unopened) < maxUnopened {
					result.Unopened = append(result.Unopened, after)
				}
			case err != nil:
				return result, fmt.Errorf("reseal %s of %s: %w", after, r.Table, err)
			default:
				result.Done++
			}
		}
		if len(rows) > 0 {
			progress(result.Done)
		}
		if len(rows) < ResealBatch {
			return result, nil
		}
	}
}

// ResealValue is Reseal for Resealing.Replace: a failure becomes ErrUnopened. nil and an
// empty value are returned unchanged.
func (b *Box) ResealValue(sealed []byte, context string) ([]byte, error) {
	if len(sealed) == 0 {
		return sealed, nil
	}
	out, err := b.Reseal(sealed, context)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnopened, err)
	}
	return out, nil
}
