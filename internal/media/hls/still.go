package hls

import (
	"encoding/binary"
	"slices"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"

	"showfloor/internal/media/hub"
)

// stillPicture shows a key picture for as long as an encoder sends none: the key picture
// again at the beginning of each segment, and in between pictures that change nothing
// where the coding allows it, else the key picture once more.
type stillPicture struct {
	keys  [2][]byte // the key picture; two of them may follow each other, in turn
	turn  int
	skips *skipper // nil: only key pictures
	since int      // pictures since the last key picture
}

// maxSkips is how many pictures that change nothing may follow a key picture.
const maxSkips = 12

// newStill makes a still of a key picture; nil if the picture can't be repeated, such
// as one that recovers over many pictures (intra refresh).
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

// next is the next picture; key asks for a key picture.
func (s *stillPicture) next(key bool) (data []byte, isKey bool) {
	if !key && s.skips != nil && s.since < maxSkips {
		s.since++
		return s.skips.picture(s.since), false
	}
	s.turn, s.since = 1-s.turn, 0
	return s.keys[s.turn], true
}

// splitUnits cuts an access unit into its NAL units.
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

// appendUnit appends a NAL unit behind its length.
func appendUnit(b, nalu []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(nalu))), nalu...)
}

// isStandalone tells whether a key picture is one that decoders start at by itself,
// which needs no look into its slices.
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

// newStillH265 repeats IDR pictures as they are: each begins a sequence of its own. A
// CRA picture that is repeated becomes a BLA picture (ITU-T H.265, 7.4.2.2), since its
// picture order count would not follow its predecessor's.
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
			return nil // a slice of something else
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

// withType is a copy of a NAL unit of H.265 with another type.
func withType(n []byte, kind h265.NALUType) []byte {
	n = slices.Clone(n)
	n[0] = n[0]&0x81 | byte(kind)<<1
	return n
}

// afterStill prepares the key picture that ends a still. A CRA picture of H.265
// becomes a BLA picture: pictures that are decoded after it and shown before it
// refer to some that no decoder has, and are left out then.
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
