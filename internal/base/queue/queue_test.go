package queue_test

import (
	"bytes"
	"context"
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

func TestCanceledContextsAreNotLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := queue.Quiet(slog.New(slog.NewTextHandler(&out, nil)))
	canceled := "get job: " + context.Canceled.Error()
	log.Error("JobExecutor: Job errored", "job_id", 1, "error", canceled, "queue", "mails")
	log.Error("Client: Failed to send job insert notification", "queues", "mails", "err", canceled)
	require.Empty(t, out.String())
	log.Error("Client: Failed to send job insert notification", "queues", "mails", "err", "connection refused")
	require.Contains(t, out.String(), "connection refused")
}
