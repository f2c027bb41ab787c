package segmenter

import "math/bits"

// bitWriter writes bits, the most significant bit first.
type bitWriter struct {
	buf  []byte
	free int // unused bits of the last byte
}

// bits writes the n lowest bits of v.
func (w *bitWriter) bits(v uint64, n int) {
	for n > 0 {
		if w.free == 0 {
			w.buf, w.free = append(w.buf, 0), 8
		}
		k := min(n, w.free)
		n -= k
		w.free -= k
		w.buf[len(w.buf)-1] |= byte(v>>n&(1<<k-1)) << w.free
	}
}

// ue writes an unsigned Exp-Golomb code (ITU-T H.264, 9.1).
func (w *bitWriter) ue(v uint32) {
	x := uint64(v) + 1
	w.bits(x, 2*bits.Len64(x)-1)
}

// se writes a signed Exp-Golomb code.
func (w *bitWriter) se(v int32) {
	if v > 0 {
		w.ue(uint32(2*v - 1))
	} else {
		w.ue(uint32(-2 * v))
	}
}

// bitReader reads what bitWriter writes. A read beyond the end sets bad; from then on all reads
// return 0.
type bitReader struct {
	buf []byte
	pos int // in bits
	bad bool
}

func (r *bitReader) bits(n int) uint64 {
	if r.bad || n > 8*len(r.buf)-r.pos {
		r.bad = true
		return 0
	}
	v := uint64(0)
	for n > 0 {
		left := 8 - r.pos%8
		k := min(n, left)
		v = v<<k | uint64(r.buf[r.pos/8])>>(left-k)&(1<<k-1)
		r.pos += k
		n -= k
	}
	return v
}

func (r *bitReader) flag() bool { return r.bits(1) == 1 }

func (r *bitReader) ue() uint32 {
	zeros := 0
	for !r.bad && r.bits(1) == 0 {
		if zeros++; zeros > 31 {
			r.bad = true
		}
	}
	return uint32(1)<<zeros - 1 + uint32(r.bits(zeros))
}

func (r *bitReader) se() int32 {
	v := r.ue()
	if v%2 == 1 {
		return int32(v/2) + 1
	}
	return -int32(v / 2)
}

// preventEmulation appends a NAL unit's payload (RBSP) to its header, with the emulation prevention
// bytes of ITU-T H.264, 7.4.1.
func preventEmulation(header byte, rbsp []byte) []byte {
	out := make([]byte, 1, 1+len(rbsp)+len(rbsp)/64+8)
	out[0] = header
	zeros := 0
	for _, b := range rbsp {
		if zeros == 2 && b <= 3 {
			out, zeros = append(out, 3), 0
		}
		if b == 0 {
			zeros++
		} else {
			zeros = 0
		}
		out = append(out, b)
	}
	return out
}
