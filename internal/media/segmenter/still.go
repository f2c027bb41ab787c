package segmenter

import (
	"encoding/binary"
	"slices"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"

	"showfloor/internal/media/hub"
)

// stillPicture repeats a key picture for as long as an encoder sends none: the key picture at the
// beginning of each segment and, in between, pictures that change nothing if the coding allows
// that, otherwise the key picture.
type stillPicture struct {
	keys  [2][]byte // two versions of the key picture, used in turn
	turn  int
	skips *skipper // nil: only key pictures
	since int      // pictures since the last key picture
}

// maxSkips is how many pictures without a change may follow a key picture.
const maxSkips = 12

// newStill returns a still of a key picture; nil if the picture can't be repeated, such as one of
// an intra refresh, which recovers over many pictures.
func newStill(u *hub.Unit) *stillPicture {
	nalus, ok := splitUnits(u.Data)
	if !ok {
		return nil
	}
	if u.Track.Codec == hub.H265 {
		return newStillH265(nalus)
	}
	return newStillH264(u.Track, nalus)
}

// next returns the next picture; key requests a key picture.
func (s *stillPicture) next(key bool) (data []byte, isKey bool) {
	if !key && s.skips != nil && s.since < maxSkips {
		s.since++
		return s.skips.picture(s.since), false
	}
	s.turn, s.since = 1-s.turn, 0
	return s.keys[s.turn], true
}

// splitUnits splits an access unit into its NAL units.
func splitUnits(data []byte) (nalus [][]byte, ok bool) {
	for len(data) > 0 {
		if len(data) < 5 {
			return nil, false
		}
		n := int(binary.BigEndian.Uint32(data))
		if n < 1 || n > len(data)-4 {
			return nil, false
		}
		nalus, data = append(nalus, data[4:4+n]), data[4+n:]
	}
	return nalus, len(nalus) > 0
}

// appendUnit appends a NAL unit after its length.
func appendUnit(b, nalu []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(nalu))), nalu...)
}

// isStandalone reports whether decoders can start at a key picture by its NAL unit types alone,
// without a check of its slices.
func isStandalone(u *hub.Unit) bool {
	nalus, ok := splitUnits(u.Data)
	return ok && slices.ContainsFunc(nalus, func(n []byte) bool {
		if u.Track.Codec == hub.H265 {
			kind := h265.NALUType(n[0] >> 1 & 0x3F)
			return kind >= h265.NALUType_BLA_W_LP && kind <= h265.NALUType_CRA_NUT
		}
		return h264.NALUType(n[0]&0x1F) == h264.NALUTypeIDR
	})
}

// newStillH265 repeats IDR pictures unchanged: each begins a new sequence. A repeated CRA picture
// becomes a BLA picture (ITU-T H.265, 7.4.2.2), since its picture order count would not follow
// that of its predecessor.
func newStillH265(nalus [][]byte) *stillPicture {
	var data []byte
	pictures := 0
	for _, n := range nalus {
		kind := h265.NALUType(n[0] >> 1 & 0x3F)
		switch {
		case len(n) < 2 || n[0]&1 != 0 || n[1]>>3 != 0:
			continue // of another layer
		case kind == h265.NALUType_VPS_NUT, kind == h265.NALUType_SPS_NUT, kind == h265.NALUType_PPS_NUT:
		case kind == h265.NALUType_IDR_W_RADL, kind == h265.NALUType_IDR_N_LP:
			pictures++
		case kind >= h265.NALUType_BLA_W_LP && kind <= h265.NALUType_CRA_NUT:
			n = withType(n, h265.NALUType_BLA_N_LP)
			pictures++
		case kind < h265.NALUType_VPS_NUT:
			return nil // a slice of another picture type
		default:
			continue // metadata of one picture, such as its captions, isn't repeated
		}
		data = appendUnit(data, n)
	}
	if pictures == 0 {
		return nil
	}
	return &stillPicture{keys: [2][]byte{data, data}}
}

// withType returns a copy of an H.265 NAL unit with another type.
func withType(n []byte, kind h265.NALUType) []byte {
	n = slices.Clone(n)
	n[0] = n[0]&0x81 | byte(kind)<<1
	return n
}

// afterStill prepares the key picture that ends a still. A CRA picture of H.265 becomes a BLA
// picture: pictures that are decoded after it and shown before it refer to pictures that no
// decoder has, and decoders drop them after a BLA picture.
func afterStill(u *hub.Unit) *hub.Unit {
	nalus, ok := splitUnits(u.Data)
	if u.Track.Codec != hub.H265 || !ok {
		return u
	}
	c := *u
	c.Data = nil
	for _, n := range nalus {
		if h265.NALUType(n[0]>>1&0x3F) == h265.NALUType_CRA_NUT {
			n = withType(n, h265.NALUType_BLA_W_LP)
		}
		c.Data = appendUnit(c.Data, n)
	}
	return &c
}
