package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
)

func TestErrorsOfJobsCanBeStored(t *testing.T) {
	t.Parallel()
	after := func(err error) error {
		return cleanErrors(t.Context(), nil, func(context.Context) error { return err })
	}
	require.NoError(t, after(nil))
	plain := errors.New("plain")
	require.Equal(t, plain, after(plain))
	require.EqualError(t, after(errors.New("a\x00b\xff")), "a b ")
	require.Len(t, after(errors.New(strings.Repeat("x", 1<<20))).Error(), maxJobError)
	var cancel *river.JobCancelError
	require.ErrorAs(t, after(river.JobCancel(errors.New("\x00"))), &cancel)
}
