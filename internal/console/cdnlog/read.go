package cdnlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"
)

const (
	// maxLine is the length of the longest line, in bytes. A longer one is skipped and counts as bad.
	maxLine = 64 << 10
	// maxSkipped is how many bytes of one line are skipped. A longer one is no log, but for example a gzip file of zeros.
	maxSkipped = 64 << 20
	// maxSums is how many sums a log may have: its hours times its resources. They take some 100 MB.
	maxSums = 1_000_000
	// shownFaults is how many bad lines are described.
	shownFaults = 5
	// reportEvery is the number of lines between two reports of the progress.
	reportEvery = 1 << 16
)

// TooManySumsError says that a log has more than a million sums.
type TooManySumsError struct{}

func (*TooManySumsError) Error() string {
	return fmt.Sprintf("more than %d sums by hour and stream: split the file", maxSums)
}

// Key names a sum: the bytes of a resource in an hour.
type Key struct {
	// Hour is the start of the hour, in seconds since 1970.
	Hour int64
	// ResourceID is the id of a stream or recording. It is empty for rows that name none, and for rows with a status of 400 or more:
	// their tokens may be forged, because this platform's servers have not accepted them.
	ResourceID string
}

// Fault describes a bad line.
type Fault struct {
	// Line is its number; the first line is 1.
	Line int
	Err  error
}

// Log is what a file holds.
type Log struct {
	// Hash is SHA-256 over the content, after decompression.
	Hash [sha256.Size]byte
	// Lines of the file; Rows that are in the sums; Bad lines, which are not. Other lines are headings or empty.
	Lines, Rows, Bad int64
	// Bytes is the sum of all rows.
	Bytes int64
	Sums  map[Key]int64
	// Faults are the first bad lines.
	Faults []Fault
}

// maxBadPercent is how many lines of a log may be bad.
const maxBadPercent = 10

// TooBad reports whether more than maxBadPercent of the lines couldn't be read, so that the log is damaged, or in another format.
func (l *Log) TooBad() bool { return l.Bad*100 > (l.Rows+l.Bad)*maxBadPercent }

// Reader reads logs.
type Reader struct {
	Format Format
	// ResourceOf returns the id of the stream or recording that a path names, or an empty string.
	ResourceOf func(path string) string
	Now        time.Time
	// Progress, which may be nil, is called from time to time.
	Progress func(lines int64)
}

// Read reads a log to its end. It recognizes gzip, also several files one after the other. Its error is that of the input, of ctx, or
// a *TooManySumsError.
func (r Reader) Read(ctx context.Context, from io.Reader) (*Log, error) {
	p := newParser(r.Format)
	if p == nil {
		return nil, fmt.Errorf("%q is no known format; use one of %s", r.Format, names())
	}
	text, err := decompressed(from)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	log := &Log{Sums: map[Key]int64{}}
	lines := lineReader{from: bufio.NewReaderSize(io.TeeReader(text, hashWriter{sum}), 2*maxLine)}
	for {
		line, long, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", log.Lines+1, err)
		}
		log.Lines++
		if err := r.take(log, p, line, long); err != nil {
			return nil, err
		}
		if log.Lines%reportEvery == 0 {
			if ctx.Err() != nil {
				return nil, fmt.Errorf("stopped: %w", ctx.Err())
			}
			if r.Progress != nil {
				r.Progress(log.Lines)
			}
		}
	}
	sum.Sum(log.Hash[:0])
	return log, nil
}

// take adds a line to the log.
func (r Reader) take(log *Log, p parser, line []byte, long bool) error {
	if len(line) == 0 && !long {
		return nil
	}
	row, ok, err := Row{}, false, errLong
	if !long {
		row, ok, err = p.parse(line)
	}
	if ok {
		err = inTime(row.At, r.Now)
	}
	if err == nil && log.Bytes+row.Bytes > maxTotal {
		err = errSum
	}
	if err != nil {
		log.Bad++
		if len(log.Faults) < shownFaults {
			log.Faults = append(log.Faults, Fault{int(log.Lines), err})
		}
		return nil
	}
	if !ok {
		return nil
	}
	log.Rows++
	if row.Bytes == 0 {
		return nil
	}
	log.Bytes += row.Bytes
	log.Sums[KeyOf(row, r.ResourceOf)] += row.Bytes
	if len(log.Sums) > maxSums {
		return &TooManySumsError{}
	}
	return nil
}

// KeyOf returns the sum that a row belongs to.
func KeyOf(row Row, resourceOf func(path string) string) Key {
	const failed, hour = 400, 3600
	k := Key{Hour: row.At - row.At%hour}
	if row.Status < failed {
		k.ResourceID = resourceOf(string(row.Path))
	}
	return k
}

// inTime refuses a row that is too old, or too far in the future.
func inTime(at int64, now time.Time) error {
	switch {
	case at < now.Add(-MaxAge).Unix():
		return errAge
	case at > now.Add(MaxFuture).Unix():
		return errFuture
	}
	return nil
}

// names lists the formats in a sentence.
func names() string {
	var list []string
	for _, f := range Formats() {
		list = append(list, string(f))
	}
	return strings.Join(list, ", ")
}

// decompressed returns the text of a file that may be compressed with gzip (RFC 1952, 2.3.1: it begins with 1f 8b).
func decompressed(from io.Reader) (io.Reader, error) {
	start := bufio.NewReaderSize(from, maxLine)
	magic, err := start.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read: %w", err)
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return start, nil
	}
	unzipped, err := gzip.NewReader(start)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	return unzipped, nil
}

// hashWriter writes to a hash, which never fails.
type hashWriter struct{ hash.Hash }

// lineReader returns the lines of a text.
type lineReader struct{ from *bufio.Reader }

// next returns a line without its end, until the next call. long reports that it is longer than maxLine; then line is nil.
func (l lineReader) next() (line []byte, long bool, err error) {
	line, err = l.from.ReadSlice('\n')
	skipped := len(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		if skipped > maxSkipped {
			return nil, true, errors.New("this is no log: a line of more than 64 MiB")
		}
		var more []byte
		more, err = l.from.ReadSlice('\n')
		skipped += len(more)
	}
	if err != nil && (!errors.Is(err, io.EOF) || skipped == 0) {
		return nil, false, err //nolint:wrapcheck // the caller names the line
	}
	if skipped > maxLine {
		return nil, true, nil
	}
	return bytes.TrimRight(line, "\r\n"), false, nil
}
