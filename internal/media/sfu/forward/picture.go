package forward

import "strings"

// picture is what a packet's payload tells of the picture that it belongs to.
type picture struct {
	// begins: the packet is the first of a picture (VP8, VP9) or of what belongs
	// to it.
	begins bool
	// key: the packet is the first of a picture from which decoding can start.
	key bool
	// sync: from this picture on, its temporal layer can be decoded by whoever has
	// decoded the lower ones.
	sync bool
	// temporal is the temporal layer.
	temporal uint8
	// idAt and tl0At are where in the payload the picture's id and the index of
	// its last base picture stand; 0 when they don't.
	idAt, tl0At uint8
	wide        bool // the id has 15 bits, not 7
	id          uint16
	tl0         uint8
	// width and height in pixels, where a key picture tells.
	width, height int
}

// codec is how a track is coded, as far as it matters here.
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

// look reads a payload; dependency is the packet's dependency descriptor. It takes
// whatever strangers send: what can't be read is a packet in the middle of a picture.
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
