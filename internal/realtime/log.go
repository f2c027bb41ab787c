package realtime

import (
	"context"
	"log/slog"

	"github.com/centrifugal/centrifuge"
)

// logLibrary writes what the library logs. Its errors are warnings: browsers miss
// something, and the rest goes on.
func (s *Server) logLibrary(e centrifuge.LogEntry) {
	level := slog.LevelDebug
	if e.Level >= centrifuge.LogLevelWarn {
		level = slog.LevelWarn
	}
	args := []any{"fields", e.Fields}
	if e.Error != nil {
		args = append(args, "error", e.Error)
	}
	s.config.Log.Log(context.Background(), level, "realtime: "+e.Message, args...)
}
