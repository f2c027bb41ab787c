package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/base/durable"
)

// journal is a file with one change per line: a JSON array of the new states of
// the objects that the change touched. A process that was killed during a write
// leaves an incomplete last line; that change is ignored.
type journal struct {
	file *os.File
	// size is the offset of the next line.
	size int64
	// written counts lines. They are appended while the server's lock is held.
	written atomic.Uint64

	// One waiting goroutine syncs all lines that are in the file by then, also
	// for the others.
	mu     sync.Mutex
	synced uint64
}

const (
	journalName = "journal.jsonl"
	dirMode     = 0o700
	fileMode    = 0o600
)

// openJournal reads the folder's journal into the state and rewrites it without
// the states that later lines replaced.
func openJournal(dir string, s *state, now time.Time) (*journal, error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("make the sandbox's folder: %w", err)
	}
	path := filepath.Join(dir, journalName)
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the sandbox's journal: %w", err)
	}
	read := newState()
	if err := replay(content, &read); err != nil {
		return nil, fmt.Errorf("read the sandbox's journal %s: %w; delete the file to start without it", path, err)
	}
	var compact bytes.Buffer
	for _, r := range read.records(now) {
		s.apply(r)
		line, err := json.Marshal([]record{r})
		if err != nil {
			return nil, fmt.Errorf("write the sandbox's journal: %w", err)
		}
		compact.Write(append(line, '\n'))
	}
	if err := durable.WriteFile(path, compact.Bytes(), fileMode); err != nil {
		return nil, fmt.Errorf("write the sandbox's journal: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, fileMode)
	if err != nil {
		return nil, fmt.Errorf("open the sandbox's journal: %w", err)
	}
	return &journal{file: file, size: int64(compact.Len())}, nil
}

// replay applies complete lines. Only after the last newline may there be an
// incomplete one.
func replay(content []byte, s *state) error {
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(content, []byte{'\n'})
		if !whole {
			return nil
		}
		content = rest
		var records []record
		if err := json.Unmarshal(line, &records); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		for _, r := range records {
			s.apply(r)
		}
	}
}

// append writes a line in one call, so that the kernel has it even if the process
// is killed. If the disk is full, append removes the incomplete line, because the
// next one would continue it.
func (j *journal) append(line []byte) error {
	n, err := j.file.Write(append(line, '\n'))
	if err != nil {
		return errors.Join(err, j.file.Truncate(j.size))
	}
	j.size += int64(n)
	j.written.Add(1)
	return nil
}

// sync returns when all lines up to this number are on disk.
func (j *journal) sync(number uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.synced >= number {
		return nil
	}
	upTo := j.written.Load()
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync the sandbox's journal: %w", err)
	}
	j.synced = upTo
	return nil
}

func (j *journal) close() error { return errors.Join(j.file.Sync(), j.file.Close()) }
