package forward

// lookVP8 parses the payload descriptor (RFC 7741) and the size in a key frame.
func lookVP8(b []byte) (v picture) {
	first := b[0]
	v.begins = first&0x10 != 0 && first&0x07 == 0
	n := 1
	if first&0x80 != 0 {
		var ok bool
		if n, ok = v.extendedVP8(b); !ok {
			return picture{}
		}
	}
	if !v.begins || n >= len(b) || b[n]&0x01 != 0 {
		return v
	}
	v.key, v.sync = true, true
	if h := b[n:]; len(h) >= 10 && h[3] == 0x9d && h[4] == 0x01 && h[5] == 0x2a {
		v.width = int(h[6]) | int(h[7]&0x3f)<<8
		v.height = int(h[8]) | int(h[9]&0x3f)<<8
	}
	return v
}

// extendedVP8 parses the fields that the descriptor's second byte announces, and returns where they
// end.
func (v *picture) extendedVP8(b []byte) (n int, ok bool) {
	if len(b) < 2 {
		return 0, false
	}
	flags := b[1]
	n = 2
	if flags&0x80 != 0 {
		if n, ok = v.pictureID(b, n); !ok {
			return 0, false
		}
	}
	if flags&0x40 != 0 {
		if n >= len(b) {
			return 0, false
		}
		v.tl0At, v.tl0 = uint8(n), b[n]
		n++
	}
	if flags&0x30 != 0 {
		if n >= len(b) {
			return 0, false
		}
		if flags&0x20 != 0 {
			v.temporal, v.sync = b[n]>>6, b[n]&0x20 != 0
		}
		n++
	}
	return n, true
}

// pictureID parses an id of 7 or 15 bits, which has the same form in VP8 and VP9.
func (v *picture) pictureID(b []byte, n int) (next int, ok bool) {
	if n >= len(b) {
		return 0, false
	}
	v.idAt, v.id = uint8(n), uint16(b[n]&0x7f)
	if b[n]&0x80 == 0 {
		return n + 1, true
	}
	if n+1 >= len(b) {
		return 0, false
	}
	v.wide, v.id = true, v.id<<8|uint16(b[n+1])
	return n + 2, true
}
