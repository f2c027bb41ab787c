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
	require.NoError(t, postgres.DeleteInBatches("rows", func(maxRows int32) (int64, error) {
		calls++
		n := min(left, int64(maxRows))
		left -= n
		return n, nil
	}))
	require.Zero(t, left)
	require.Equal(t, 3, calls)
}

func TestDeleteInBatchesNamesTheRowsInItsError(t *testing.T) {
	t.Parallel()
	broken, calls := errors.New("no disk"), 0
	err := postgres.DeleteInBatches("rows", func(maxRows int32) (int64, error) {
		if calls++; calls > 2 {
			return 0, broken
		}
		return int64(maxRows), nil
	})
	require.ErrorIs(t, err, broken)
	require.EqualError(t, err, "delete old rows, after 10000 rows: no disk")
	failure, ok := errors.AsType[*postgres.DeleteError](err)
	require.True(t, ok)
	require.EqualValues(t, 10_000, failure.Deleted)
}
