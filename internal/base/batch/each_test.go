package batch_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/batch"
)

func TestEachGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	var done []int
	refused := errors.New("refused")
	err := batch.Each([]int{1, 2, 3}, func(row int) error {
		done = append(done, row)
		if row == 2 {
			return refused
		}
		return nil
	})
	require.ErrorIs(t, err, refused)
	require.Equal(t, []int{1, 2, 3}, done)
	require.NoError(t, batch.Each(nil, func(int) error { return refused }))
}
