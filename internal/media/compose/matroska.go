package compose

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Ids of Matroska's elements (RFC 9559).
const (
	idSegment     = 0x18538067
	idCluster     = 0x1F43B675
	idTimestamp   = 0xE7
	idSimpleBlock = 0xA3
	idBlockGroup  = 0xA0
	idBlock       = 0xA1

	// maxOther bounds other elements, which are skipped.
	maxOther = 1 << 20
)

var errMatroska = errors.New("not the expected Matroska")

// rawReader reads uncompressed pictures of one track from Matroska, as ffmpeg writes them: times are in milliseconds.
type rawReader struct {
	in   *bufio.Reader
	base time.Duration
}

func newRawReader(in io.Reader) *rawReader { return &rawReader{in: bufio.NewReaderSize(in, 256<<10)} }

// next reads the next picture into data, which has its exact size, and returns its time. io.EOF: there are no more.
func (r *rawReader) next(data []byte) (time.Duration, error) {
	for {
		id, err := r.vint(true)
		if err != nil {
			return 0, err
		}
		size, err := r.vint(false)
		if err != nil {
			return 0, err
		}
		switch id {
		case idSegment, idCluster, idBlockGroup: // read what is inside
		case idTimestamp:
			if size > 8 {
				return 0, errMatroska
			}
			var b [8]byte
			if _, err := io.ReadFull(r.in, b[8-size:]); err != nil {
				return 0, err
			}
			r.base = time.Duration(binary.BigEndian.Uint64(b[:])) * time.Millisecond
		case idSimpleBlock, idBlock:
			var head [4]byte // track, time (2), flags
			if size != uint64(len(head)+len(data)) {
				return 0, fmt.Errorf("%w: a picture of %d bytes", errMatroska, size)
			}
			if _, err := io.ReadFull(r.in, head[:]); err != nil {
				return 0, err
			}
			_, err := io.ReadFull(r.in, data)
			return r.base + time.Duration(int16(binary.BigEndian.Uint16(head[1:])))*time.Millisecond, err
		default:
			if size > maxOther {
				return 0, errMatroska
			}
			if _, err := r.in.Discard(int(size)); err != nil {
				return 0, err
			}
		}
	}
}

// vint reads a number of variable length; with its marker, if it is an id.
func (r *rawReader) vint(id bool) (uint64, error) {
	first, err := r.in.ReadByte()
	if err != nil {
		return 0, err
	}
	n, mask := 1, byte(0x80)
	for mask != 0 && first&mask == 0 {
		n, mask = n+1, mask>>1
	}
	if mask == 0 {
		return 0, errMatroska
	}
	value := uint64(first)
	if !id {
		value &^= uint64(mask)
	}
	for range n - 1 {
		b, err := r.in.ReadByte()
		if err != nil {
			return 0, err
		}
		value = value<<8 | uint64(b)
	}
	return value, nil
}
