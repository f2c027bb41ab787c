package jobs

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"showfloor/internal/problem"
)

func TestWhatRepeatingCannotCureIsCancelled(t *testing.T) {
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

	require.NoError(t, until(time.Time{}, nil))
	require.ErrorIs(t, until(time.Now().Add(time.Hour), lost), lost, "an error goes before a time")
	require.ErrorAs(t, until(time.Now().Add(time.Hour), nil), &snooze)
	require.ErrorAs(t, until(time.Now().Add(-time.Hour), nil), &snooze)
	require.ErrorAs(t, until(time.Now().Add(time.Hour), problem.Missing("x")), &cancel)
}

func TestTheQueueIsQuietWhenAllIsWell(t *testing.T) {
	t.Parallel()
	log := quiet(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})))
	for level, loud := range map[slog.Level]bool{slog.LevelDebug: false, slog.LevelInfo: false, slog.LevelWarn: true, slog.LevelError: true} {
		require.Equal(t, loud, log.Enabled(t.Context(), level))
		require.Equal(t, loud, log.With("a", 1).WithGroup("g").Enabled(t.Context(), level))
	}
}
