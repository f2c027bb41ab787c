package compose

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// segment is a file with the pictures of a track, of one size. When pictures change their size, a decoder builds its filters again
// and loses their state.
type segment struct {
	path          string
	from, to      time.Duration // times of the first and the last picture
	width, height int
	screen        bool

	// width and height to which it is decoded; 0 if it is never shown.
	shownWidth, shownHeight int
	// until is when it is shown last.
	until time.Duration
}

// maxSegments bounds the segments of a track, each of which needs a process. Beyond it, pictures of another size are scaled to that of
// the last segment.
const maxSegments = 300

// pictureWriter writes the pictures of a track to segments.
type pictureWriter struct {
	folder, name string
	fourCC       string
	screen       bool

	list []*segment
	file *os.File
	out  *bufio.Writer
	err  error
}

// write appends a picture. The first one is a key picture. The error is kept for close.
func (w *pictureWriter) write(p *picture) {
	if w.err != nil {
		return
	}
	last := w.last()
	if last == nil || p.key && (p.width != last.width || p.height != last.height) && len(w.list) < maxSegments {
		w.begin(p)
		last = w.last()
	}
	if w.err != nil || len(w.list) == 0 {
		return
	}
	// Times must grow. A picture that comes before the earlier one is late by the jitter of the reports.
	at := p.at.Truncate(time.Millisecond)
	if at <= last.to && last.to > 0 {
		at = last.to + time.Millisecond
	}
	if last.to == 0 {
		last.from = at
	}
	last.to = at
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(p.data)))
	head = binary.LittleEndian.AppendUint64(head, uint64(at.Milliseconds()))
	_, _ = w.out.Write(head) // the writer keeps its first error for Flush
	_, _ = w.out.Write(p.data)
}

func (w *pictureWriter) last() *segment {
	if len(w.list) == 0 {
		return nil
	}
	return w.list[len(w.list)-1]
}

// begin begins a segment.
func (w *pictureWriter) begin(p *picture) {
	w.end()
	path := filepath.Join(w.folder, fmt.Sprintf("%s-%d.ivf", w.name, len(w.list)))
	f, err := os.Create(path)
	if err != nil {
		w.err = fmt.Errorf("make a file for pictures: %w", err)
		return
	}
	w.file, w.out = f, bufio.NewWriterSize(f, 256<<10)
	head := append([]byte("DKIF\x00\x00\x20\x00"), w.fourCC...)
	head = binary.LittleEndian.AppendUint16(head, uint16(p.width))
	head = binary.LittleEndian.AppendUint16(head, uint16(p.height))
	head = binary.LittleEndian.AppendUint32(head, 1000) // times are in units of 1/1000 s
	head = binary.LittleEndian.AppendUint32(head, 1)
	head = binary.LittleEndian.AppendUint64(head, 0) // an unknown number of pictures
	_, _ = w.out.Write(head)
	w.list = append(w.list, &segment{path: path, width: p.width, height: p.height, screen: w.screen})
}

// end closes the current file.
func (w *pictureWriter) end() {
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

// close ends the last segment, and returns the first error.
func (w *pictureWriter) close() error {
	w.end()
	return w.err
}
