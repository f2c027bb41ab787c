package compose

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/opus"
)

const (
	// soundRate is that of all sound, in samples per second.
	soundRate = 48_000
	// frameLength is the length of a frame of silence, in samples.
	frameLength = soundRate / 50
	// maxShift is the error of a frame's time from which a frame is inserted or left out, in samples: 12.5 ms. It is more than half a
	// frame, so that one correction isn't followed by the opposite one.
	maxShift = 600
	// lookahead is the delay of Opus encoders, in samples (RFC 7845, 4.2).
	lookahead = 312
	// silence is 20 ms of silence for two channels: a CELT frame (RFC 6716, 3.1) with the silence flag (4.3).
	silence = "\xFC\xFF\xFE"
	// maxLanes bounds the voices at the same time, and so the decoders that run together. Rooms forward 8 speakers at once, and the
	// hosts. Tracks beyond it are counted.
	maxLanes = 80
)

// lane is a file of Opus without gaps, from the start of the recording. Tracks that don't overlap share it.
type lane struct {
	path string
	file *os.File
	out  *bufio.Writer
	ogg  ogg
	// written is the time up to which there is sound, in samples.
	written int64
	// until is the end of its last track.
	until time.Duration
	heard bool // there is a valid frame
}

func newLane(path string) (*lane, error) {
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("make a file for voices: %w", err)
	}
	l := &lane{path: path, file: f, out: bufio.NewWriterSize(f, 64<<10), written: lookahead, ogg: newOgg()}
	// RFC 7845, 5: version 1, two channels, no pre-skip, the rate, no gain, mapping family 0; a comment header without comments.
	head := binary.LittleEndian.AppendUint32([]byte("OpusHead\x01\x02\x00\x00"), soundRate)
	l.page(append(head, 0, 0, 0), 0)
	l.page([]byte("OpusTags\x00\x00\x00\x00\x00\x00\x00\x00"), 0)
	return l, nil
}

// page writes a packet in a page of its own. The writer keeps its first error, which finish returns.
func (l *lane) page(packet []byte, granule int64) { _, _ = l.out.Write(l.ogg.page(packet, granule)) }

// put appends a frame of n samples.
func (l *lane) put(frame []byte, n int64) {
	l.written += n
	l.page(frame, l.written-lookahead)
}

// fill appends silence until the error to a time is small.
func (l *lane) fill(to int64) {
	for to-l.written >= maxShift {
		l.put([]byte(silence), frameLength)
	}
}

// add appends a frame at its time, after silence if there is a gap. While the sender's clock is fast, frames are left out.
func (l *lane) add(frame []byte, at time.Duration) {
	n := samples(frame)
	to := int64(at) * soundRate / int64(time.Second)
	if n <= 0 || l.written-to >= maxShift {
		return
	}
	l.fill(to)
	l.put(frame, n)
	l.heard = true
}

// samples returns the length of an Opus frame; 0 if it is invalid or is longer than 120 ms (RFC 6716, 3.2.5).
func samples(frame []byte) int64 {
	if len(frame) == 0 || len(frame)-1 > 3*1275 {
		return 0
	}
	if code := frame[0] & 3; code == 3 && (len(frame) < 2 || frame[1]&0x3f == 0) {
		return 0
	}
	n := opus.PacketDuration2(frame)
	if n > soundRate*120/1000 {
		return 0
	}
	return n
}

// finish closes the file. It is idempotent.
func (l *lane) finish() error {
	if l.file == nil {
		return nil
	}
	err := l.out.Flush()
	if closeErr := l.file.Close(); err == nil {
		err = closeErr
	}
	if l.file = nil; err != nil {
		return fmt.Errorf("write voices: %w", err)
	}
	return nil
}

// ogg makes pages of one logical stream (RFC 3533).
type ogg struct {
	number uint32
	table  [256]uint32
}

func newOgg() (o ogg) {
	for i := range o.table {
		sum := uint32(i) << 24
		for range 8 {
			carry := sum&(1<<31) != 0
			sum <<= 1
			if carry {
				sum ^= 0x04c11db7
			}
		}
		o.table[i] = sum
	}
	return o
}

// page returns a page with one packet of less than 64 KiB, which ends at a sample.
func (o *ogg) page(packet []byte, granule int64) []byte {
	b := append(make([]byte, 0, 27+256+len(packet)), "OggS\x00\x00"...)
	if o.number == 0 {
		b[5] = 2 // begin of stream
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(granule))
	b = binary.LittleEndian.AppendUint32(b, 1) // serial number
	b = binary.LittleEndian.AppendUint32(b, o.number)
	o.number++
	b = append(b, 0, 0, 0, 0, byte(len(packet)/255+1))
	left := len(packet)
	for ; left >= 255; left -= 255 {
		b = append(b, 255)
	}
	b = append(append(b, byte(left)), packet...)
	sum := uint32(0)
	for _, x := range b {
		sum = sum<<8 ^ o.table[byte(sum>>24)^x]
	}
	binary.LittleEndian.PutUint32(b[22:], sum)
	return b
}
