package recorder

import (
	"bufio"
	"encoding/binary"
	"io"
)

// fragment is a pair of a moof and an mdat box in a file of one track.
type fragment struct {
	sequence uint32
	ticks    int64 // sum of the samples' durations, in the track's time scale
	end      int64 // offset in the file
}

// maxIndex bounds a moof box in bytes; ours have some kilobytes.
const maxIndex = 4 << 20

// readFragments reads the whole fragments at the beginning of a file. It stops at the first torn or invalid box.
func readFragments(r io.Reader) (list []fragment) {
	in := bufio.NewReaderSize(r, 64<<10)
	at := int64(0)
	for {
		index, ok := readBox(in, "moof")
		if !ok {
			return list
		}
		x, ok := parseIndex(index)
		if !ok {
			return list
		}
		size, ok := skipBox(in, "mdat")
		if !ok {
			return list
		}
		at += boxHeader + int64(len(index)) + boxHeader + size
		x.end = at
		list = append(list, x)
	}
}

const boxHeader = 8

// readHeader reads a box's header and returns the size of its content; false at the end, or if it is another box.
func readHeader(in *bufio.Reader, name string) (content int64, ok bool) {
	var head [boxHeader]byte
	if _, err := io.ReadFull(in, head[:]); err != nil || string(head[4:]) != name {
		return 0, false
	}
	content = int64(binary.BigEndian.Uint32(head[:])) - boxHeader
	return content, content >= 0
}

// readBox returns a box's content.
func readBox(in *bufio.Reader, name string) ([]byte, bool) {
	size, ok := readHeader(in, name)
	if !ok || size > maxIndex {
		return nil, false
	}
	b := make([]byte, size)
	_, err := io.ReadFull(in, b)
	return b, err == nil
}

func skipBox(in *bufio.Reader, name string) (size int64, ok bool) {
	if size, ok = readHeader(in, name); !ok {
		return 0, false
	}
	n, err := io.CopyN(io.Discard, in, size)
	return size, err == nil && n == size
}

// Flags of ISO/IEC 14496-12, 8.8.7 and 8.8.8.
const (
	tfhdBaseOffset  = 0x01
	tfhdDescription = 0x02
	tfhdDuration    = 0x08
	trunDataOffset  = 0x001
	trunFirstFlags  = 0x004
	trunDuration    = 0x100
	trunOthers      = 0xe00 // size, flags and composition offset
)

// parseIndex parses the content of a moof box.
func parseIndex(b []byte) (x fragment, ok bool) {
	for name, content := range boxes(b) {
		switch name {
		case "mfhd":
			if len(content) < 8 {
				return x, false
			}
			x.sequence, ok = binary.BigEndian.Uint32(content[4:]), true
		case "traf":
			x.ticks += trackTicks(content)
		}
	}
	return x, ok
}

// boxes yields the name and content of the boxes in b; it stops at an invalid one.
func boxes(b []byte) func(yield func(string, []byte) bool) {
	return func(yield func(string, []byte) bool) {
		for len(b) >= boxHeader {
			size := int64(binary.BigEndian.Uint32(b))
			if size < boxHeader || size > int64(len(b)) || !yield(string(b[4:8]), b[boxHeader:size]) {
				return
			}
			b = b[size:]
		}
	}
}

// trackTicks sums the durations of a traf box.
func trackTicks(b []byte) (sum int64) {
	standard := int64(0)
	for name, content := range boxes(b) {
		switch name {
		case "tfhd":
			standard = defaultDuration(content)
		case "trun":
			sum += runTicks(content, standard)
		}
	}
	return sum
}

func defaultDuration(b []byte) int64 {
	if len(b) < 8 {
		return 0
	}
	flags, at := binary.BigEndian.Uint32(b)&0xffffff, 8
	if flags&tfhdBaseOffset != 0 {
		at += 8
	}
	if flags&tfhdDescription != 0 {
		at += 4
	}
	if flags&tfhdDuration == 0 || len(b) < at+4 {
		return 0
	}
	return int64(binary.BigEndian.Uint32(b[at:]))
}

func runTicks(b []byte, standard int64) (sum int64) {
	if len(b) < 8 {
		return 0
	}
	flags, count, at := binary.BigEndian.Uint32(b)&0xffffff, int64(binary.BigEndian.Uint32(b[4:])), 8
	if flags&trunDuration == 0 {
		return count * standard
	}
	for _, field := range []uint32{trunDataOffset, trunFirstFlags} {
		if flags&field != 0 {
			at += 4
		}
	}
	entry := 4
	for field := uint32(0x200); field <= 0x800; field <<= 1 {
		if flags&trunOthers&field != 0 {
			entry += 4
		}
	}
	for ; count > 0 && len(b) >= at+4; count-- {
		sum += int64(binary.BigEndian.Uint32(b[at:]))
		at += entry
	}
	return sum
}
