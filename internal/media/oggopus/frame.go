package oggopus

import "github.com/bluenviron/mediacommon/v2/pkg/codecs/opus"

const (
	// maxFrame is the maximum size of a frame in a packet, in bytes.
	maxFrame = 1275
	// Of the second byte of packets with code 3: the bits of variable sizes and of padding, and the number of frames.
	variable, padded, countMask = 0x80, 0x40, 0x3f
)

// Samples returns the length of an Opus packet; 0 if it is malformed, or is longer than 120 ms (RFC 6716, 3.2.5 and 3.4). A decoder refuses
// a malformed packet, and then has no sound for its time.
func Samples(packet []byte) int64 {
	if len(packet) == 0 || len(packet)-1 > 3*maxFrame || !wellFormed(packet[0]&3, packet[1:]) {
		return 0
	}
	n := opus.PacketDuration2(packet)
	if n > Rate*120/1000 {
		return 0
	}
	return n
}

// wellFormed checks the frames of a packet after its first byte (RFC 6716, 3.2).
func wellFormed(code byte, b []byte) bool {
	switch code {
	case 0:
		return len(b) <= maxFrame
	case 1:
		return len(b)%2 == 0 && len(b)/2 <= maxFrame
	case 2:
		size, rest, ok := frameSize(b)
		return ok && size <= len(rest) && len(rest)-size <= maxFrame
	}
	if len(b) == 0 || b[0]&countMask == 0 {
		return false
	}
	head, b := b[0], b[1:]
	count := int(head & countMask)
	if head&padded != 0 {
		var ok bool
		if b, ok = withoutPadding(b); !ok {
			return false
		}
	}
	if head&variable == 0 {
		return len(b)%count == 0 && len(b)/count <= maxFrame
	}
	sum := 0
	for range count - 1 {
		size, rest, ok := frameSize(b)
		if !ok {
			return false
		}
		sum, b = sum+size, rest
	}
	return sum <= len(b) && len(b)-sum <= maxFrame
}

// frameSize reads the size of a frame in one or two bytes (RFC 6716, 3.2.1).
func frameSize(b []byte) (size int, rest []byte, ok bool) {
	const oneByte = 252
	switch {
	case len(b) > 0 && b[0] < oneByte:
		return int(b[0]), b[1:], true
	case len(b) > 1:
		return int(b[0]) + 4*int(b[1]), b[2:], true
	}
	return 0, nil, false
}

// withoutPadding removes the size of the padding and the padding, which is at the end (RFC 6716, 3.2.5).
func withoutPadding(b []byte) (rest []byte, ok bool) {
	const more = 255 // 254 bytes of padding, and another byte of the size
	padding := 0
	for {
		if len(b) == 0 {
			return nil, false
		}
		size := int(b[0])
		b = b[1:]
		if size < more {
			padding += size
			break
		}
		padding += more - 1
	}
	if padding > len(b) {
		return nil, false
	}
	return b[:len(b)-padding], true
}
