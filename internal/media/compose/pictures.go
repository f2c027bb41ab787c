package compose

import (
	"strings"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/av1"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/vp9"
	"github.com/pion/rtp/codecs"
)

const (
	// maxSide bounds the width and height of decoded pictures, in pixels. Larger ones are left out.
	maxSide = 4096
	// maxPicture bounds an encoded picture, in bytes.
	maxPicture = 8 << 20
)

// picture is an encoded picture.
type picture struct {
	at   time.Duration
	key  bool
	data []byte
	// width and height are those of a key picture, in pixels.
	width, height int
}

// format is a video codec.
type format struct {
	fourCC string
	// unpack returns a function that unpacks the payloads of one picture, in their order. begins: the payload can be the first one.
	unpack func() func(payload []byte) (data []byte, begins bool, err error)
	// inspect returns the size of a key picture; 0 of another one.
	inspect func(data []byte) (width, height int)
	// prefix begins each picture.
	prefix string
}

// formatOf returns the format of a codec by its name in SDP; false if it can't be decoded.
func formatOf(mimeType string) (format, bool) {
	switch strings.ToLower(mimeType) {
	case "video/vp8":
		return format{fourCC: "VP80", unpack: unpackVP8, inspect: inspectVP8}, true
	case "video/vp9":
		return format{fourCC: "VP90", unpack: unpackVP9, inspect: inspectVP9}, true
	case "video/h264":
		return format{fourCC: "H264", unpack: unpackH264, inspect: inspectH264}, true
	case "video/av1":
		return format{fourCC: "AV01", unpack: unpackAV1, inspect: inspectAV1, prefix: "\x12\x00"}, true // a temporal delimiter
	}
	return format{}, false
}

func unpackVP8() func([]byte) ([]byte, bool, error) {
	return func(payload []byte) ([]byte, bool, error) {
		var p codecs.VP8Packet
		data, err := p.Unmarshal(payload)
		return data, p.S == 1 && p.PID == 0, err
	}
}

func unpackVP9() func([]byte) ([]byte, bool, error) {
	return func(payload []byte) ([]byte, bool, error) {
		var p codecs.VP9Packet
		data, err := p.Unmarshal(payload)
		return data, p.B, err
	}
}

func unpackH264() func([]byte) ([]byte, bool, error) {
	var p codecs.H264Packet
	return func(payload []byte) ([]byte, bool, error) {
		data, err := p.Unmarshal(payload)
		const fuA, start = 28, 0x80
		begins := len(payload) > 1 && (payload[0]&0x1f != fuA || payload[1]&start != 0)
		return data, begins, err
	}
}

func unpackAV1() func([]byte) ([]byte, bool, error) {
	var p codecs.AV1Depacketizer
	return func(payload []byte) ([]byte, bool, error) {
		data, err := p.Unmarshal(payload)
		return data, !p.Z, err
	}
}

// inspectVP8 reads the header of a key frame (RFC 6386, 9.1).
func inspectVP8(b []byte) (width, height int) {
	if len(b) < 10 || b[0]&1 != 0 || b[3] != 0x9d || b[4] != 0x01 || b[5] != 0x2a {
		return 0, 0
	}
	return int(b[6]) | int(b[7]&0x3f)<<8, int(b[8]) | int(b[9]&0x3f)<<8
}

func inspectVP9(b []byte) (width, height int) {
	var h vp9.Header
	if h.Unmarshal(b) != nil || h.NonKeyFrame || h.FrameSize == nil {
		return 0, 0
	}
	return h.Width(), h.Height()
}

func inspectH264(b []byte) (width, height int) {
	var units h264.AnnexB
	if units.Unmarshal(b) != nil {
		return 0, 0
	}
	var sps h264.SPS
	parsed, key := false, false
	for _, u := range units {
		switch h264.NALUType(u[0] & 0x1f) {
		case h264.NALUTypeSPS:
			parsed = sps.Unmarshal(u) == nil
		case h264.NALUTypeIDR:
			key = true
		}
	}
	if !parsed || !key {
		return 0, 0
	}
	return sps.Width(), sps.Height()
}

func inspectAV1(b []byte) (width, height int) {
	var units av1.Bitstream
	if units.Unmarshal(b) != nil {
		return 0, 0
	}
	for _, u := range units {
		var h av1.SequenceHeader
		if len(u) > 0 && av1.OBUType(u[0]>>3&0x0f) == av1.OBUTypeSequenceHeader && h.Unmarshal(u) == nil {
			return h.Width(), h.Height()
		}
	}
	return 0, 0
}

// assembler makes pictures of ordered packets. A damaged picture, and all after it up to the next key picture, are left out.
type assembler struct {
	format  format
	unpack  func([]byte) ([]byte, bool, error)
	begun   bool // a picture has begun
	ts      uint32
	at      time.Duration
	data    []byte
	held    int  // payload bytes of the picture; unpackers keep fragments that aren't in data yet
	waiting bool // for a key picture
	left    uint64
}

func newAssembler(f format) *assembler {
	return &assembler{format: f, unpack: f.unpack(), waiting: true}
}

// push takes a packet, and passes on the picture that it completes.
func (a *assembler) push(p *placed, pass func(*picture)) {
	if len(p.Payload) == 0 {
		return // padding
	}
	if p.gap || a.begun && p.Timestamp != a.ts {
		// Packets are missing, also of the picture before: it had no mark.
		a.waiting = a.waiting || p.gap || a.begun
		a.abandon()
	}
	if a.held += len(p.Payload); a.held > maxPicture {
		a.abandon()
		a.waiting = true
		return
	}
	data, begins, err := a.unpack(p.Payload)
	switch {
	case err != nil, !a.begun && !begins, len(a.data)+len(data) > maxPicture:
		a.abandon()
		a.waiting = true
		return
	case !a.begun:
		a.begun, a.ts, a.at = true, p.Timestamp, p.at
		a.data = append(a.data, a.format.prefix...)
	}
	a.data = append(a.data, data...)
	if p.Marker {
		a.complete(pass)
	}
}

// abandon leaves out the picture that has begun.
func (a *assembler) abandon() {
	if a.begun {
		a.left++
	}
	a.reset()
}

// reset prepares for the next picture. No format has fragments that continue in another picture, so the unpacker drops its own.
func (a *assembler) reset() { a.begun, a.data, a.held, a.unpack = false, nil, 0, a.format.unpack() }

func (a *assembler) complete(pass func(*picture)) {
	x := picture{at: a.at, data: a.data}
	a.reset()
	x.width, x.height = a.format.inspect(x.data)
	x.key = x.width > 0 && x.height > 0
	if x.width > maxSide || x.height > maxSide || a.waiting && !x.key || len(x.data) == len(a.format.prefix) {
		a.waiting = true
		a.left++
		return
	}
	a.waiting = false
	pass(&x)
}
