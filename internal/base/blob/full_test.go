package blob

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorsOfAFullDisk(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := full(&os.PathError{Op: "write", Path: "a", Err: cause})
		require.ErrorIs(t, err, ErrFull)
		require.ErrorIs(t, err, cause)
	}
	require.NotErrorIs(t, full(syscall.EIO), ErrFull)
	require.NoError(t, full(nil))
}
