package forward

// maxBlocks is how many blocks a RED payload may have; browsers send two or three.
const maxBlocks = 16

// primaryOf returns the last block of a RED payload (RFC 2198), which is the payload that the
// packet would have without RED; it may be empty. All blocks must have the given payload type and
// lie within the payload.
func primaryOf(payload []byte, payloadType uint8) (r part, ok bool) {
	n, before := 0, 0
	for range maxBlocks {
		if n >= len(payload) || payload[n]&0x7f != payloadType {
			return part{}, false
		}
		if payload[n]&0x80 == 0 {
			from := n + 1 + before
			return part{from, len(payload)}, from <= len(payload)
		}
		if n+4 > len(payload) {
			return part{}, false
		}
		before += int(payload[n+2]&0x03)<<8 | int(payload[n+3])
		n += 4
	}
	return part{}, false
}

// renumber changes the payload type in the block headers of a RED payload. primaryOf must have
// accepted the payload.
func renumber(payload []byte, payloadType uint8) {
	n := 0
	for ; payload[n]&0x80 != 0; n += 4 {
		payload[n] = 0x80 | payloadType
	}
	payload[n] = payloadType
}

// takes reports whether a packet has a negotiated payload type, and finds the primary block of RED.
func (t *Track) takes(h *header, raw []byte) bool {
	c := &t.config
	if c.REDPayloadType == 0 || h.payloadType != c.REDPayloadType {
		return c.PayloadType == 0 || h.payloadType == c.PayloadType
	}
	if h.payload.from == h.payload.to {
		return true // padding
	}
	r, ok := primaryOf(h.payload.of(raw), c.PayloadType)
	if !ok {
		if c.Malformed != nil {
			c.Malformed()
		}
		return false
	}
	h.red, h.primary = true, part{h.payload.from + r.from, h.payload.from + r.to}
	return true
}

// content returns the part of a packet's payload that the subscriber gets: all, or RED's primary
// block.
func (s *Sink) content(p *packet) []byte {
	if p.red && s.config.REDPayloadType == 0 {
		return p.primary
	}
	return p.payload
}

// soundRate returns the rate at which the audio is sent to the subscriber, in bits per second.
func (s *Sink) soundRate(x *situation) int {
	if s.config.REDPayloadType == 0 {
		return x.plain
	}
	return x.sound
}

// typed returns the payload type and the payload of a RED packet for the subscriber, with the
// subscriber's payload types.
func (s *Sink) typed(p *packet) (payloadType uint8, payload []byte) {
	c := &s.config
	if c.REDPayloadType == 0 {
		return c.PayloadType, p.primary
	}
	if c.PayloadType == s.track.config.PayloadType {
		return c.REDPayloadType, p.payload
	}
	payload = s.egress.worker.scratch[:copy(s.egress.worker.scratch[:], p.payload)]
	renumber(payload, c.PayloadType)
	return c.REDPayloadType, payload
}
