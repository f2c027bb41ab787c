package bridge

import (
	"encoding/binary"
	"io"
)

// oggWriter writes Opus packets as an Ogg stream (RFC 3533, RFC 7845), each on a page of its
// own, so that a reader receives each packet at once.
type oggWriter struct {
	out     io.Writer
	page    uint32
	granule uint64 // samples written so far
	buffer  []byte
}

// maxOggPacket is the longest packet that fits on a page, in bytes.
const maxOggPacket = 254 * 255

// head writes the two header packets of a stream with two channels at 48 kHz and no pre-skip.
func (w *oggWriter) head() error {
	head := append([]byte("OpusHead"), 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(head[12:], audioRate)
	if err := w.write(head, 0, 2); err != nil {
		return err
	}
	return w.write(append([]byte("OpusTags"), 1, 0, 0, 0, 's', 0, 0, 0, 0), 0, 0)
}

// packet writes one packet with a number of samples.
func (w *oggWriter) packet(data []byte, samples int64) error { return w.write(data, samples, 0) }

func (w *oggWriter) write(data []byte, samples int64, flags byte) error {
	w.granule += uint64(samples)
	b := w.buffer[:0]
	b = append(b, "OggS\x00"...)
	b = append(b, flags)
	b = binary.LittleEndian.AppendUint64(b, w.granule)
	b = binary.LittleEndian.AppendUint32(b, 1) // the stream's serial number
	b = binary.LittleEndian.AppendUint32(b, w.page)
	b = binary.LittleEndian.AppendUint32(b, 0) // placeholder for the checksum
	b = append(b, byte(len(data)/255+1))
	for n := len(data); ; n -= 255 {
		b = append(b, byte(min(n, 255)))
		if n < 255 {
			break
		}
	}
	b = append(b, data...)
	binary.LittleEndian.PutUint32(b[22:], oggChecksum(b))
	w.page++
	w.buffer = b
	_, err := w.out.Write(b)
	return err
}

// oggChecksum is the CRC of RFC 3533, section 6: polynomial 0x04c11db7, the highest bit first.
func oggChecksum(b []byte) (sum uint32) {
	for _, x := range b {
		sum ^= uint32(x) << 24
		for range 8 {
			if sum&(1<<31) != 0 {
				sum = sum<<1 ^ 0x04c11db7
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}
