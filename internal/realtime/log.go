package realtime

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge"
)

// logPause is how long a warning isn't repeated: while Redis is away the library
// says so several times a second.
const logPause = 10 * time.Second

// throttledLog writes what the library logs, each warning once in a while.
type throttledLog struct {
	log *slog.Logger

	mu   sync.Mutex
	said map[string]time.Time
}

func newThrottledLog(log *slog.Logger) *throttledLog {
	return &throttledLog{log: log, said: map[string]time.Time{}}
}

func (l *throttledLog) handle(e centrifuge.LogEntry) {
	if e.Level < centrifuge.LogLevelWarn {
		l.log.Debug("realtime: "+e.Message, "fields", e.Fields)
		return
	}
	l.warn("realtime: "+e.Message, "fields", e.Fields)
}

// warn says it unless it was said a moment ago.
func (l *throttledLog) warn(message string, args ...any) {
	l.mu.Lock()
	again := time.Since(l.said[message]) >= logPause
	if again {
		l.said[message] = time.Now()
	}
	l.mu.Unlock()
	if again {
		l.log.Log(context.Background(), slog.LevelWarn, message, args...)
	}
}
