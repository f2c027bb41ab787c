package transcoder

import (
	"encoding/binary"
	"io"
)

// sourceCopy copies a source to ffmpeg.
type sourceCopy struct {
	boxes boxes
	done  bool  // the copy ended without an error of the source
	whole bool  // the source was read to its end
	err   error // of the source
}

// copy copies until the source ends or fails, or until ffmpeg doesn't read any more; why is then in its exit status.
func (c *sourceCopy) copy(w io.Writer, r io.Reader) {
	buffer := make([]byte, 256<<10)
	for {
		n, err := r.Read(buffer)
		c.boxes.add(buffer[:n])
		if _, werr := w.Write(buffer[:n]); werr != nil {
			c.done = true
			return
		}
		if err == io.EOF { // a wrapped EOF is a failure of the source, not its end
			c.done, c.whole = true, true
			return
		}
		if err != nil {
			c.err = err
			return
		}
	}
}

// torn reports whether the source ended within a box. ffmpeg then makes shorter files without an error.
func (c *sourceCopy) torn() bool { return c.whole && c.boxes.inside() }

// boxes follows the boxes at the top level of an MP4 file (ISO/IEC 14496-12, 4.2).
type boxes struct {
	header []byte // of the next box, as far as it is known
	left   uint64 // bytes of the current box that are to come
	begun  bool   // the first box was found
	open   bool   // the current box lasts to the end of the file, or this isn't an MP4 file
}

func (b *boxes) add(data []byte) {
	for len(data) > 0 && !b.open {
		if b.left > 0 {
			n := min(b.left, uint64(len(data)))
			b.left, data = b.left-n, data[n:]
			continue
		}
		b.header, data = append(b.header, data[0]), data[1:]
		b.parse()
	}
}

// parse begins a box as soon as its header is complete.
func (b *boxes) parse() {
	n := len(b.header)
	if n < 8 {
		return
	}
	size := uint64(binary.BigEndian.Uint32(b.header))
	if size == 1 { // a size of 64 bits follows
		if n < 16 {
			return
		}
		size = binary.BigEndian.Uint64(b.header[8:])
	}
	b.open = size < uint64(n) || !b.begun && string(b.header[4:8]) != "ftyp"
	b.begun = true
	b.left, b.header = max(size, uint64(n))-uint64(n), nil
}

// inside reports whether bytes of a box are missing.
func (b *boxes) inside() bool { return !b.open && (b.left > 0 || len(b.header) > 0) }
