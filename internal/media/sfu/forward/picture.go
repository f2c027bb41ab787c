package forward

import "strings"

// picture is the information that a packet's payload has on its picture.
type picture struct {
	// begins: the packet is the first of a picture (VP8, VP9) or of the units that belong to it.
	begins bool
	// key: the packet is the first of a picture from which decoding can start.
	key bool
	// sync: from this picture on, a decoder of the lower temporal layers can also decode this one.
	sync bool
	// temporal is the temporal layer.
	temporal uint8
	// idAt and tl0At are the positions in the payload of the picture's id and of the index of its
	// last base picture (TL0PICIDX); 0 for none.
	idAt, tl0At uint8
	wide        bool // the id has 15 bits, not 7
	id          uint16
	tl0         uint8
	// width and height in pixels, if this is a key picture that contains them.
	width, height int
}

// codec is a codec that this package can parse, or opaque.
type codec int

const (
	opaque codec = iota
	vp8
	vp9
	h264
	av1
)

func codecOf(mime string) codec {
	switch strings.ToLower(mime) {
	case "video/vp8":
		return vp8
	case "video/vp9":
		return vp9
	case "video/h264":
		return h264
	case "video/av1":
		return av1
	default:
		return opaque
	}
}

// look parses a payload; dependency is the packet's dependency descriptor. Both are untrusted: a
// payload that can't be parsed counts as a packet in the middle of a picture.
func (c codec) look(payload, dependency []byte) picture {
	if len(payload) == 0 {
		return picture{}
	}
	switch c {
	case vp8:
		return lookVP8(payload)
	case vp9:
		return lookVP9(payload)
	case h264:
		return lookH264(payload)
	case av1:
		return lookAV1(payload, dependency)
	default:
		return picture{key: true, begins: true}
	}
}
