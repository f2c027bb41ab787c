package forward

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// Sizes of a packet's buffer, in bytes. The larger one fits into one datagram on an Ethernet;
// longer packets aren't made for networks.
const (
	smallPacket = 320
	largePacket = 1504
	// largestPacket is the longest packet that is accepted from a publisher: forwarding may add 44
	// bytes.
	largestPacket = 1460
)

// packet is one of the publisher's packets. Only refs changes once it is in the history.
type packet struct {
	// refs counts references: of the history and of workers that use it.
	refs atomic.Int32

	layer   uint8
	marker  bool
	run     uint32  // runs are independent: a packet doesn't continue one of another run
	source  uint32  // timestamps of different sources aren't comparable
	seq     uint64  // extended by its higher bits; it grows over all runs
	ts      uint32  // as in the publisher's packet
	arrived instant // when it came

	view    picture
	payload []byte
	// red: the payload is RED; primary is its primary block, for the packet's own time.
	red     bool
	primary []byte
	// Forwarded header extensions; empty when the packet has none.
	audioLevel, dependency, playout []byte

	buffer []byte
}

// packets are pools of packets with free buffers, by size.
//
//nolint:gochecknoglobals // shared by all tracks, or each would have to keep its own peak
var packets [2]sync.Pool

func newPacket(size int) *packet {
	class, room := 0, smallPacket
	if size > smallPacket {
		class, room = 1, largePacket
	}
	if p, ok := packets[class].Get().(*packet); ok {
		return p
	}
	return &packet{buffer: make([]byte, room)}
}

// fits reports whether a packet of size bytes uses the same class of buffer.
func (p *packet) fits(size int) bool {
	return (len(p.buffer) == smallPacket) == (size <= smallPacket)
}

// release drops one reference.
func (p *packet) release() {
	if p.refs.Add(-1) == 0 {
		p.recycle()
	}
}

func (p *packet) recycle() {
	class := 0
	if len(p.buffer) > smallPacket {
		class = 1
	}
	packets[class].Put(p)
}

// fill copies a packet that parse has parsed.
func (p *packet) fill(raw []byte, h *header) {
	n := copy(p.buffer, raw)
	b := p.buffer[:n:n]
	p.marker, p.ts = h.marker, h.ts
	p.payload = h.payload.of(b)
	p.red, p.primary = h.red, h.primary.of(b)
	p.audioLevel, p.dependency, p.playout = h.audioLevel.of(b), h.dependency.of(b), h.playout.of(b)
}

// part is a range of bytes of a packet.
type part struct{ from, to int }

func (r part) of(b []byte) []byte { return b[r.from:r.to:r.to] }

// header holds the used fields of an RTP packet's header.
type header struct {
	marker                                   bool
	payloadType                              uint8
	seq                                      uint16
	ts, ssrc                                 uint32
	payload, audioLevel, dependency, playout part
	red                                      bool
	primary                                  part // of RED
}

// parse parses an untrusted packet; false when it isn't RTP. Invalid header extensions are ignored:
// the rest of the packet may be useful.
func parse(raw []byte, ids *Extensions) (h header, ok bool) {
	if len(raw) < 12 || len(raw) > largestPacket || raw[0]>>6 != 2 {
		return h, false
	}
	h.marker, h.payloadType = raw[1]&0x80 != 0, raw[1]&0x7f
	h.seq = binary.BigEndian.Uint16(raw[2:])
	h.ts, h.ssrc = binary.BigEndian.Uint32(raw[4:]), binary.BigEndian.Uint32(raw[8:])
	n := 12 + 4*int(raw[0]&0x0f)
	if raw[0]&0x10 != 0 {
		if len(raw) < n+4 {
			return h, false
		}
		profile := binary.BigEndian.Uint16(raw[n:])
		end := n + 4 + 4*int(binary.BigEndian.Uint16(raw[n+2:]))
		if end > len(raw) {
			return h, false
		}
		h.extensions(raw, n+4, end, profile, ids)
		n = end
	}
	end := len(raw)
	if n > end {
		return h, false
	}
	if raw[0]&0x20 != 0 {
		if n == end {
			return h, false
		}
		padding := int(raw[end-1])
		if padding == 0 || padding > end-n {
			return h, false
		}
		end -= padding
	}
	h.payload = part{n, end}
	return h, true
}

// extensions parses the one-byte and the two-byte form of RFC 8285.
func (h *header) extensions(raw []byte, n, end int, profile uint16, ids *Extensions) {
	short := profile == 0xBEDE
	if !short && profile&0xfff0 != 0x1000 {
		return
	}
	for n < end {
		id := raw[n]
		var size int
		switch {
		case id == 0:
			n++
			continue
		case short:
			id, size = id>>4, int(id&0x0f)+1
			n++
			if id == 15 {
				return
			}
		default:
			if n+2 > end {
				return
			}
			size = int(raw[n+1])
			n += 2
		}
		if n+size > end {
			return
		}
		h.extension(id, part{n, n + size}, ids)
		n += size
	}
}

func (h *header) extension(id uint8, r part, ids *Extensions) {
	switch size := r.to - r.from; {
	case id == 0 || size == 0:
	case id == ids.AudioLevel && size == 1:
		h.audioLevel = r
	case id == ids.DependencyDescriptor && size >= 3:
		h.dependency = r
	case id == ids.PlayoutDelay && size == 3:
		h.playout = r
	}
}
