package oggopus

import "encoding/binary"

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
