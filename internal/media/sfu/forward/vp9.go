package forward

// lookVP9 parses the payload descriptor (RFC 9628). The spatial layers of a stream are forwarded
// together, so a picture begins with its lowest one.
func lookVP9(b []byte) (v picture) {
	flags := b[0]
	const hasID, predicted, hasLayers, flexible, begins = 0x80, 0x40, 0x20, 0x10, 0x08
	n := 1
	if flags&hasID != 0 {
		var ok bool
		if n, ok = v.pictureID(b, n); !ok {
			return picture{}
		}
	}
	spatial := uint8(0)
	if flags&hasLayers != 0 {
		if n >= len(b) {
			return picture{}
		}
		v.temporal, v.sync, spatial = b[n]>>5, b[n]&0x10 != 0, b[n]>>1&0x07
		n++
		if flags&flexible == 0 {
			if n >= len(b) {
				return picture{}
			}
			v.tl0At, v.tl0 = uint8(n), b[n]
			n++
		}
	}
	v.begins = flags&begins != 0 && spatial == 0
	if v.begins && flags&predicted == 0 {
		v.key, v.sync = true, true
		v.sizeVP9(b, n)
	}
	return v
}

// sizeVP9 reads the size of the largest spatial layer from the scalability structure, which a key
// picture has at n.
func (v *picture) sizeVP9(b []byte, n int) {
	const structure = 0x02
	if b[0]&structure == 0 || n >= len(b) {
		return
	}
	layers, sizes := int(b[n]>>5)+1, b[n]&0x10 != 0
	n++
	if !sizes || n+4*layers > len(b) {
		return
	}
	last := b[n+4*(layers-1):]
	v.width, v.height = int(last[0])<<8|int(last[1]), int(last[2])<<8|int(last[3])
}
