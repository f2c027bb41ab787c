package postgres_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
)

func TestDeleteInBatchesGoesOnUntilThereAreFewer(t *testing.T) {
	t.Parallel()
	left, calls := int64(12_000), 0
	require.NoError(t, postgres.DeleteInBatches(t.Context(), "rows", func(maxRows int32) (int64, error) {
		calls++
		n := min(left, int64(maxRows))
		left -= n
		return n, nil
	}))
	require.Zero(t, left)
	require.Equal(t, 3, calls)
}

// TestCountDeleted counts the rows of two calls, of which the second one fails.
func TestCountDeleted(t *testing.T) {
	t.Parallel()
	ctx, deleted := postgres.CountDeleted(t.Context())
	require.NoError(t, postgres.DeleteInBatches(ctx, "rows", func(int32) (int64, error) { return 7, nil }))
	broken, calls := errors.New("no disk"), 0
	err := postgres.DeleteInBatches(ctx, "others", func(maxRows int32) (int64, error) {
		if calls++; calls > 2 {
			return 0, broken
		}
		return int64(maxRows), nil
	})
	require.ErrorIs(t, err, broken)
	require.EqualError(t, err, "delete old others: no disk")
	require.EqualValues(t, 10_007, deleted.Load())
}
