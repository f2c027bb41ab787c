package compose

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"time"
)

const (
	// maxSegments bounds the sizes of a track, each of which needs a process. Beyond it, pictures of another size are scaled to that of
	// the last segment.
	maxSegments = 300
	// maxFile is the size in bytes from which the next key picture begins another file, so that shown ones can be removed.
	maxFile = 64 << 20
	// markEvery is the distance of marks: a decoder begins and ends at one.
	markEvery = time.Second
	// checkEvery is after how many bytes the disk is checked.
	checkEvery = 16 << 20
	// ivfHead is the size of a file's header, in bytes.
	ivfHead = 32
)

// segment is a file with the pictures of a track, of one size. When pictures change their size, a decoder builds its filters again
// and loses their state.
type segment struct {
	id, path      string
	from, to      time.Duration // times of the first and the last picture
	width, height int
	screen        bool
	size          int64 // of the file, in bytes
	marks         []mark
	lastKey       time.Duration // of the last mark of a key picture

	// width and height to which it is decoded; 0 if it isn't shown now.
	shownWidth, shownHeight int
	// until is when it is shown last.
	until time.Duration
}

// mark is a picture of a segment.
type mark struct {
	at     time.Duration
	offset int64
	key    bool
}

// mark notes a picture that begins at the end of the file.
func (s *segment) mark(at time.Duration, key bool) {
	n := len(s.marks)
	if n > 0 && (!key || at-s.lastKey < markEvery) && at-s.marks[n-1].at < markEvery {
		return
	}
	if key {
		s.lastKey = at
	}
	s.marks = append(s.marks, mark{at, s.size, key})
}

// key returns the last marked key picture up to a time, or the first one.
func (s *segment) key(at time.Duration) mark {
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].at > at }) - 1
	for i > 0 && !s.marks[i].key {
		i--
	}
	return s.marks[max(i, 0)]
}

// end returns an offset after all pictures up to a time.
func (s *segment) end(at time.Duration) int64 {
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].at > at })
	if i == len(s.marks) {
		return s.size
	}
	return s.marks[i].offset
}

// open returns the pictures from one key picture on to an end, as an IVF file.
func (s *segment) open(from, to int64) (io.Reader, io.Closer, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, nil, fmt.Errorf("open pictures: %w", err)
	}
	return io.MultiReader(io.NewSectionReader(f, 0, ivfHead), io.NewSectionReader(f, from, to-from)), f, nil
}

// pictureWriter writes the pictures of a track to segments.
type pictureWriter struct {
	folder, name string
	trackID      string
	fourCC       string
	screen       bool
	refuse       func() error // by the disk; nil for never
	// done is the time up to which pictures aren't needed any more.
	done time.Duration

	list    []*segment
	begun   int // segments
	sizes   int // changes of the pictures' size
	checked int64
	file    *os.File
	out     *bufio.Writer
	err     error
}

// write appends a picture. The first one is a key picture. The error is kept for flush.
func (w *pictureWriter) write(p *picture) {
	if w.err != nil {
		return
	}
	last := w.last()
	if last == nil || p.key && w.another(last, p) {
		w.begin(p)
		last = w.last()
	} else if w.file == nil {
		w.reopen(last)
	}
	if w.err != nil || last == nil {
		return
	}
	// Times must grow. A picture that comes before the earlier one is late by the jitter of the reports.
	at := p.at.Truncate(time.Millisecond)
	if len(last.marks) == 0 {
		last.from = at
	} else if at <= last.to {
		at = last.to + time.Millisecond
	}
	last.to = at
	last.mark(at, p.key)
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(p.data)))
	head = binary.LittleEndian.AppendUint64(head, uint64(at.Milliseconds()))
	_, _ = w.out.Write(head) // the writer keeps its first error for Flush
	_, _ = w.out.Write(p.data)
	last.size += int64(len(head) + len(p.data))
	if w.checked += int64(len(p.data)); w.refuse != nil && w.checked > checkEvery {
		w.checked, w.err = 0, w.refuse()
	}
}

// another reports whether a key picture begins another segment.
func (w *pictureWriter) another(last *segment, p *picture) bool {
	if p.width != last.width || p.height != last.height {
		if w.sizes++; w.sizes < maxSegments {
			return true
		}
	}
	return last.size > maxFile
}

func (w *pictureWriter) last() *segment {
	if len(w.list) == 0 {
		return nil
	}
	return w.list[len(w.list)-1]
}

// begin begins a segment.
func (w *pictureWriter) begin(p *picture) {
	w.suspend()
	s := &segment{
		id:    fmt.Sprintf("%s/%d", w.trackID, w.begun),
		path:  filepath.Join(w.folder, fmt.Sprintf("%s-%d.ivf", w.name, w.begun)),
		width: p.width, height: p.height, screen: w.screen, size: ivfHead,
	}
	f, err := os.Create(s.path)
	if err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("make a file for pictures: %w", err))
		return
	}
	w.begun++
	w.file, w.out = f, bufio.NewWriterSize(f, 256<<10)
	head := append([]byte("DKIF\x00\x00\x20\x00"), w.fourCC...)
	head = binary.LittleEndian.AppendUint16(head, uint16(p.width))
	head = binary.LittleEndian.AppendUint16(head, uint16(p.height))
	head = binary.LittleEndian.AppendUint32(head, 1000) // times are in units of 1/1000 s
	head = binary.LittleEndian.AppendUint32(head, 1)
	head = binary.LittleEndian.AppendUint64(head, 0) // an unknown number of pictures
	_, _ = w.out.Write(head)
	w.list = append(w.list, s)
	w.prune(w.done)
}

// reopen continues the last segment.
func (w *pictureWriter) reopen(s *segment) {
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		w.err = fmt.Errorf("continue a file of pictures: %w", err)
		return
	}
	w.file, w.out = f, bufio.NewWriterSize(f, 256<<10)
}

// suspend closes the current file, so that its pictures can be read. The next picture opens it again.
func (w *pictureWriter) suspend() {
	if w.file == nil {
		return
	}
	err := w.out.Flush()
	if closeErr := w.file.Close(); err == nil {
		err = closeErr
	}
	if w.file = nil; err != nil && w.err == nil {
		w.err = fmt.Errorf("write pictures: %w", err)
	}
}

// flush writes all pictures to the disk, and returns the first error.
func (w *pictureWriter) flush() error {
	w.suspend()
	return w.err
}

// prune removes the segments that aren't shown from a time on.
func (w *pictureWriter) prune(done time.Duration) {
	w.done = done
	n := 0
	for n+1 < len(w.list) && len(w.list[n+1].marks) > 0 && w.list[n+1].from <= done {
		_ = os.Remove(w.list[n].path) // the next session removes it, too
		n++
	}
	w.list = w.list[n:]
}
