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

// The server's log is moved to log.1 (which is replaced) when it has grown
// beyond this many bytes: so it takes about twice that at most.
const (
	logLimit    = 4 << 20
	logInterval = time.Minute
	// tailBytes of it are shown when the server does not start.
	tailBytes = 2 << 10
)

// serverLog is the file that the server writes its messages to.
type serverLog struct {
	path string

	mu   sync.Mutex
	file *os.File
	// from is where this run's messages begin.
	from int64
}

// openServerLog opens the log for appending. The folder belongs to another
// account when this process is root, so a link in it is not followed.
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

// begin marks the end of the file as the place where the messages of the next
// run begin.
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

// trim moves the log's content to log.1 when it has more than limit bytes. The
// server holds the file open, so it is copied and emptied, not renamed; a line
// written in between is lost. Trouble with the log must not stop the server, so
// a failure only leaves it as it is until the next time.
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
	// The newest part is what counts, however much was written in a minute.
	skip := max(info.Size()-logLimit, 0)
	_, err = io.Copy(old, io.NewSectionReader(l.file, skip, info.Size()-skip))
	if errors.Join(err, old.Close()) == nil && l.file.Truncate(0) == nil {
		l.from = 0
	}
}

// tail returns the end of what this run wrote, ready to be put behind an error
// message; "" when it wrote nothing.
func (l *serverLog) tail() string {
	lines := l.end()
	if lines == "" {
		return ""
	}
	return "; the end of " + l.path + ":\n  " + strings.ReplaceAll(lines, "\n", "\n  ")
}

// gravest returns in one line why the server could not go on, as far as this
// run's messages say: the last fatal one, or else what was written before there
// were levels. It is "" when there is neither.
func (l *serverLog) gravest() string {
	fatal, plain := "", ""
	for line := range strings.Lines(l.end()) {
		_, message, found := strings.Cut(line, "FATAL:  ")
		if !found {
			_, message, found = strings.Cut(line, "PANIC:  ")
		}
		switch {
		case found && !strings.HasPrefix(message, "terminating connection"): // those are for clients whose connection ends
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

// end returns the last lines of what this run wrote.
func (l *serverLog) end() string {
	file, err := os.Open(l.path) // The one we had may be closed by now.
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
