package realtime

import (
	"context"
	"log/slog"

	"github.com/centrifugal/centrifuge"
)

// logLibrary writes the library's log entries. Its errors are logged as warnings:
// clients miss something, but the server continues.
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
