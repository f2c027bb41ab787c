package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
)

func TestPermanentErrorsCancelTheJob(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection lost")
	busy := problem.New(problem.Unavailable, "unavailable", "try later")
	var cancel *river.JobCancelError
	var snooze *river.JobSnoozeError

	require.NoError(t, outcome(nil))
	require.ErrorIs(t, outcome(lost), lost)
	require.NotErrorAs(t, outcome(lost), &cancel)
	require.NotErrorAs(t, outcome(busy), &cancel, "this one may pass")
	for _, kind := range []problem.Kind{problem.Invalid, problem.NotFound, problem.Conflict, problem.Forbidden} {
		require.ErrorAs(t, outcome(problem.New(kind, "code", "message")), &cancel, kind)
	}

	require.NoError(t, clock{time.Now}.until(time.Time{}, nil))
	require.ErrorIs(t, clock{time.Now}.until(time.Now().Add(time.Hour), lost), lost, "an error goes before a time")
	require.ErrorAs(t, clock{time.Now}.until(time.Now().Add(time.Hour), nil), &snooze)
	require.ErrorAs(t, clock{time.Now}.until(time.Now().Add(-time.Hour), nil), &snooze)
	require.ErrorAs(t, clock{time.Now}.until(time.Now().Add(time.Hour), problem.Missing("x")), &cancel)
}
