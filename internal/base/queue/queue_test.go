package queue_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/queue"
)

func TestTheQueueIsQuietWhenAllIsWell(t *testing.T) {
	t.Parallel()
	log := queue.Quiet(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})))
	for level, loud := range map[slog.Level]bool{slog.LevelDebug: false, slog.LevelInfo: false, slog.LevelWarn: true, slog.LevelError: true} {
		require.Equal(t, loud, log.Enabled(t.Context(), level))
		require.Equal(t, loud, log.With("a", 1).WithGroup("g").Enabled(t.Context(), level))
	}
}
