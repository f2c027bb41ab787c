package embedded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// When the server's log is larger than this many bytes, it is moved to log.1,
// which is replaced. So the two files together take at most about twice that.
const (
	logLimit    = 4 << 20
	logInterval = time.Minute
	// tailBytes is how many bytes of the log are shown if the server does not start.
	tailBytes = 2 << 10
)

// serverLog is the file of the server's messages.
type serverLog struct {
	path string

	mu   sync.Mutex
	file *os.File
	// from is the offset at which this run's messages begin.
	from int64
}

// openServerLog opens the log for appending. It doesn't follow a link, because
// if this process is root, the folder belongs to another account.
func openServerLog(path string) (*serverLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of the private PostgreSQL server: %w", err)
	}
	log := &serverLog{path: path, file: file}
	log.trim(logLimit)
	log.begin()
	return log, nil
}

// begin marks the end of the file as the beginning of the next run's messages.
func (l *serverLog) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if info, err := l.file.Stat(); err == nil {
		l.from = info.Size()
	}
}

// keepSmall trims the log every minute until done is closed.
func (l *serverLog) keepSmall(done <-chan struct{}) {
	ticker := time.NewTicker(logInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.trim(logLimit)
		case <-done:
			return
		}
	}
}

// trim moves the log's content to log.1 if it has more than limit bytes. The
// server holds the file open, so trim copies and empties it instead of renaming
// it; a line written in between is lost. Errors of the log must not stop the
// server: the next call tries again.
func (l *serverLog) trim(limit int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := l.file.Stat()
	if err != nil || info.Size() <= limit {
		return
	}
	old, err := os.OpenFile(l.path+".1", os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	// Keep the newest part, however much was written in a minute.
	skip := max(info.Size()-logLimit, 0)
	_, err = io.Copy(old, io.NewSectionReader(l.file, skip, info.Size()-skip))
	if errors.Join(err, old.Close()) == nil && l.file.Truncate(0) == nil {
		l.from = 0
	}
}

// tail returns the end of this run's messages in a form that can follow an
// error message, or "" if there are none.
func (l *serverLog) tail() string {
	lines := l.end()
	if lines == "" {
		return ""
	}
	return "; the end of " + l.path + ":\n  " + strings.ReplaceAll(lines, "\n", "\n  ")
}

// gravest returns in one line why the server could not continue, according to
// this run's messages: the last fatal message, or else the lines without a
// level, from before logging started. It returns "" if there is neither.
func (l *serverLog) gravest() string {
	fatal, plain := "", ""
	for line := range strings.Lines(l.end()) {
		_, message, found := strings.Cut(line, "FATAL:  ")
		if !found {
			_, message, found = strings.Cut(line, "PANIC:  ")
		}
		switch {
		case found && !strings.HasPrefix(message, "terminating connection"): // messages to clients whose connection ends
			fatal = strings.TrimSpace(message)
		case !strings.Contains(line, ":  "):
			plain += " " + strings.TrimSpace(line)
		}
	}
	if fatal == "" {
		return strings.TrimSpace(plain)
	}
	return fatal
}

// end returns the last lines of this run's messages.
func (l *serverLog) end() string {
	file, err := os.Open(l.path) // l.file may be closed by now.
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	l.mu.Lock()
	start := min(max(l.from, info.Size()-tailBytes), info.Size())
	l.mu.Unlock()
	text, err := io.ReadAll(io.NewSectionReader(file, start, info.Size()-start))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (l *serverLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
