package trackfile

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"time"
)

// A record is its kind (1 byte), the length of its body (2 bytes), the CRC-32C of the body (4 bytes), and the body. Numbers are
// big-endian.
const (
	kindText   = 1 // JSON: an Info or an Event
	kindPacket = 2 // arrival in µs (8), sequence number (2), timestamp (4), marker (1), payload
	kindReport = 3 // arrival in µs (8), NTP time (8), timestamp (4)

	headSize   = 7
	packetHead = 15
	reportSize = 20
	maxBody    = 1<<16 - 1
)

// errTooLong means that a record can't hold a body.
var errTooLong = errors.New("the record is too long")

// begin appends the head of a record to b; finish completes it.
func begin(b []byte, kind byte) []byte { return append(b, kind, 0, 0, 0, 0, 0, 0) }

// finish completes the record that begins at from. table is that of CRC-32C.
func finish(b []byte, from int, table *crc32.Table) []byte {
	body := b[from+headSize:]
	binary.BigEndian.PutUint16(b[from+1:], uint16(len(body)))
	binary.BigEndian.PutUint32(b[from+3:], crc32.Checksum(body, table))
	return b
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// next reads a record into buf, and returns its body there. io.EOF: there is no further complete record.
func next(r io.Reader, buf []byte, table *crc32.Table) (kind byte, body []byte, err error) {
	head := buf[:headSize]
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, end(err)
	}
	kind = head[0]
	size, sum := int(binary.BigEndian.Uint16(head[1:])), binary.BigEndian.Uint32(head[3:])
	body = buf[:size]
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, end(err)
	}
	if crc32.Checksum(body, table) != sum {
		return 0, nil, io.EOF
	}
	return kind, body, nil
}

// end makes io.EOF of a torn record.
func end(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

func appendPacket(b []byte, p *Packet, table *crc32.Table) []byte {
	from := len(b)
	b = begin(b, kindPacket)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Arrived.Microseconds()))
	b = binary.BigEndian.AppendUint16(b, p.Sequence)
	b = binary.BigEndian.AppendUint32(b, p.Timestamp)
	marker := byte(0)
	if p.Marker {
		marker = 1
	}
	b = append(append(b, marker), p.Payload...)
	return finish(b, from, table)
}

func parsePacket(body []byte) (p Packet, ok bool) {
	if len(body) < packetHead {
		return p, false
	}
	return Packet{
		Arrived: micros(body), Sequence: binary.BigEndian.Uint16(body[8:]), Timestamp: binary.BigEndian.Uint32(body[10:]),
		Marker: body[14] == 1, Payload: body[packetHead:],
	}, true
}

func appendReport(b []byte, r *Report, table *crc32.Table) []byte {
	from := len(b)
	b = begin(b, kindReport)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Arrived.Microseconds()))
	b = binary.BigEndian.AppendUint64(b, r.NTP)
	b = binary.BigEndian.AppendUint32(b, r.Timestamp)
	return finish(b, from, table)
}

func parseReport(body []byte) (r Report, ok bool) {
	if len(body) != reportSize {
		return r, false
	}
	return Report{
		Arrived: micros(body), NTP: binary.BigEndian.Uint64(body[8:]), Timestamp: binary.BigEndian.Uint32(body[16:]),
	}, true
}

// longest is the longest recording, which bounds times in damaged files.
const longest = 30 * 24 * time.Hour

// micros reads a time, which is between 0 and longest.
func micros(b []byte) time.Duration {
	us := min(binary.BigEndian.Uint64(b), uint64(longest.Microseconds()))
	return time.Duration(us) * time.Microsecond
}
