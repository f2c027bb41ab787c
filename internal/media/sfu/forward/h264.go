package forward

import codec264 "github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"

// NAL unit types of H.264 and of its RTP payload (RFC 6184).
const (
	nalIDR   = 5
	nalSPS   = 7
	nalSTAPA = 24
	nalFUA   = 28
)

// lookH264 finds where decoding can start: at a sequence parameter set, which encoders for WebRTC
// send before each IDR picture. At an IDR picture without one, only decoders that know its
// parameter sets already could start.
func lookH264(b []byte) (v picture) {
	var sps []byte
	switch b[0] & 0x1f {
	case nalSPS:
		sps, v.key = b, true
	case nalSTAPA:
		sps = aggregatedSPS(b[1:])
		v.key = sps != nil
	case nalFUA:
		v.key = len(b) > 1 && b[1]&0x80 != 0 && b[1]&0x1f == nalSPS
	}
	v.begins, v.sync = v.key, v.key
	if sps != nil {
		v.sizeH264(sps)
	}
	return v
}

// aggregatedSPS returns the SPS of an aggregation packet (STAP-A); nil for none.
func aggregatedSPS(b []byte) []byte {
	for len(b) > 2 {
		size := int(b[0])<<8 | int(b[1])
		if size == 0 || size > len(b)-2 {
			return nil
		}
		if b[2]&0x1f == nalSPS {
			return b[2 : 2+size]
		}
		b = b[2+size:]
	}
	return nil
}

func (v *picture) sizeH264(sps []byte) {
	var x codec264.SPS
	if x.Unmarshal(sps) != nil {
		return
	}
	if w, h := x.Width(), x.Height(); w > 0 && h > 0 && w < 1<<16 && h < 1<<16 {
		v.width, v.height = w, h
	}
}

// isIDR reports whether a packet begins an IDR picture. It is used for publishers whose parameter
// sets are only in the session description.
func isIDR(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	return b[0]&0x1f == nalIDR || b[0]&0x1f == nalFUA && len(b) > 1 && b[1]&0x80 != 0 && b[1]&0x1f == nalIDR
}
