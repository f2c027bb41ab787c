package trackfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxEvents bounds the events of a timeline that are read.
const maxEvents = 1 << 20

// Timeline returns the events of the recording in a folder, by time. A folder without a timeline has none.
func Timeline(dir string) ([]Event, error) {
	list, _, err := TimelineFrom(dir, 0)
	return list, err
}

// TimelineFrom returns the events of a timeline from an offset in bytes, by time, and the offset after them. The offset is 0 or one
// that TimelineFrom has returned, so that a timeline which grows is read once.
func TimelineFrom(dir string, from int64) (list []Event, to int64, err error) {
	in, err := os.Open(filepath.Join(dir, timelineName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, fmt.Errorf("open a timeline: %w", err)
	}
	defer in.Close()
	if _, err := in.Seek(from, io.SeekStart); err != nil {
		return nil, from, fmt.Errorf("read a timeline: %w", err)
	}
	r, buf, table := bufio.NewReader(in), make([]byte, maxBody), castagnoli()
	for to = from; len(list) < maxEvents; {
		kind, body, err := next(r, buf, table)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, from, fmt.Errorf("read a timeline: %w", err)
		}
		to += headSize + int64(len(body))
		var e Event
		if kind != kindText || json.Unmarshal(body, &e) != nil {
			continue
		}
		e.At = min(max(e.At, 0), longest)
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b Event) int { return int(a.At - b.At) })
	return list, to, nil
}

// Tracks returns the paths of the track files in a folder, sorted by name.
func Tracks(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list a recording's files: %w", err)
	}
	var list []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), trackSuffix) {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, nil
}

// Reader reads a track file.
type Reader struct {
	// Info is that of the track.
	Info Info

	in     *os.File
	r      *bufio.Reader
	buf    []byte
	table  *crc32.Table
	offset int64
}

// ErrEmpty means that a track file has no complete first record.
var ErrEmpty = errors.New("the track file is empty")

// Open opens a track file.
func Open(path string) (*Reader, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a track: %w", err)
	}
	r := &Reader{in: in, r: bufio.NewReaderSize(in, 256<<10), buf: make([]byte, maxBody), table: castagnoli()}
	kind, body, err := next(r.r, r.buf, r.table)
	if err == nil && (kind != kindText || json.Unmarshal(body, &r.Info) != nil) || errors.Is(err, io.EOF) {
		err = ErrEmpty
	}
	if err != nil {
		_ = in.Close() // nothing was written
		return nil, fmt.Errorf("read a track: %w", err)
	}
	r.offset = headSize + int64(len(body))
	return r, nil
}

// OpenAt opens a track file to read it from an offset that Offset has returned, so that a file which grows is read once. An offset of
// 0 is the begin.
func OpenAt(path string, offset int64) (*Reader, error) {
	r, err := Open(path)
	if err != nil || offset <= r.offset {
		return r, err
	}
	if _, err := r.in.Seek(offset, io.SeekStart); err != nil {
		_ = r.in.Close() // nothing was written
		return nil, fmt.Errorf("read a track: %w", err)
	}
	r.r.Reset(r.in)
	r.offset = offset
	return r, nil
}

// Offset returns the offset in bytes after the last record that was read.
func (r *Reader) Offset() int64 { return r.offset }

// Next returns the next packet or the next report; the other one is nil. They are valid until the next call. io.EOF: there are no
// more.
func (r *Reader) Next() (*Packet, *Report, error) {
	for {
		kind, body, err := next(r.r, r.buf, r.table)
		if err != nil {
			return nil, nil, err
		}
		r.offset += headSize + int64(len(body))
		switch kind {
		case kindPacket:
			if p, ok := parsePacket(body); ok {
				return &p, nil, nil
			}
		case kindReport:
			if x, ok := parseReport(body); ok {
				return nil, &x, nil
			}
		}
	}
}

// Close closes the file.
func (r *Reader) Close() error { return r.in.Close() }

// Length returns the time of the last event.
func Length(events []Event) time.Duration {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].At
}
