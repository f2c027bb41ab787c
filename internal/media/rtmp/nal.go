package rtmp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"

	"showfloor/internal/media/hub"
)

const (
	maxPictureSize  = 8192 // pixels, each side
	maxPictureNALs  = 1024
	maxConfigRecord = 16 << 10 // bytes
)

var errShortConfig = errors.New("truncated sequence header")

// videoConfig is the content of a video sequence header.
type videoConfig struct {
	track *hub.Track
	// lengthSize is the width of NAL unit lengths in frames: 1, 2 or 4 bytes.
	lengthSize int
	// extra holds parameter sets after the first one of each kind, with 4-byte lengths. A track
	// holds one of each, so the others are prepended to key frames.
	extra []byte
}

// parseAVCConfig parses an AVCDecoderConfigurationRecord (ISO 14496-15, 5.3.3.1).
func parseAVCConfig(b []byte) (*videoConfig, error) {
	if len(b) < 6 || len(b) > maxConfigRecord {
		return nil, errShortConfig
	}
	c := &videoConfig{track: &hub.Track{Codec: hub.H264}, lengthSize: int(b[4]&3) + 1}
	count, b := int(b[5]&0x1F), b[6:]
	var err error
	if b, err = c.sets(b, count, &c.track.SPS); err != nil {
		return nil, err
	}
	if len(b) < 1 {
		return nil, errShortConfig
	}
	count, b = int(b[0]), b[1:]
	if _, err = c.sets(b, count, &c.track.PPS); err != nil {
		return nil, err
	}
	if len(c.track.SPS) == 0 || len(c.track.PPS) == 0 {
		return nil, errors.New("sequence header without parameter sets")
	}
	var sps h264.SPS
	if err := sps.Unmarshal(c.track.SPS); err != nil {
		return nil, fmt.Errorf("H.264 parameter set: %w", err)
	}
	return c, c.picture(sps.Width(), sps.Height(), sps.FPS())
}

// parseHEVCConfig parses an HEVCDecoderConfigurationRecord (ISO 14496-15, 8.3.3.1).
func parseHEVCConfig(b []byte) (*videoConfig, error) {
	if len(b) < 23 || len(b) > maxConfigRecord {
		return nil, errShortConfig
	}
	c := &videoConfig{track: &hub.Track{Codec: hub.H265}, lengthSize: int(b[21]&3) + 1}
	arrays, b := int(b[22]), b[23:]
	for range arrays {
		if len(b) < 3 {
			return nil, errShortConfig
		}
		kind, count := h265.NALUType(b[0]&0x3F), int(binary.BigEndian.Uint16(b[1:]))
		var first, ignored *[]byte
		ignored = new([]byte)
		switch kind {
		case h265.NALUType_VPS_NUT:
			first = &c.track.VPS
		case h265.NALUType_SPS_NUT:
			first = &c.track.SPS
		case h265.NALUType_PPS_NUT:
			first = &c.track.PPS
		default:
			first = ignored
		}
		var err error
		if b, err = c.sets(b[3:], count, first); err != nil {
			return nil, err
		}
	}
	if len(c.track.VPS) == 0 || len(c.track.SPS) == 0 || len(c.track.PPS) == 0 {
		return nil, errors.New("sequence header without parameter sets")
	}
	var sps h265.SPS
	if err := sps.Unmarshal(c.track.SPS); err != nil {
		return nil, fmt.Errorf("H.265 parameter set: %w", err)
	}
	return c, c.picture(sps.Width(), sps.Height(), sps.FPS())
}

// sets reads count NAL units after 16-bit lengths: the first one to *first if that is empty,
// the others to c.extra. It returns the rest.
func (c *videoConfig) sets(b []byte, count int, first *[]byte) ([]byte, error) {
	for range count {
		if len(b) < 2 {
			return nil, errShortConfig
		}
		n := int(binary.BigEndian.Uint16(b))
		b = b[2:]
		if len(b) < n {
			return nil, errShortConfig
		}
		switch {
		case n == 0:
		case len(*first) == 0:
			*first = append([]byte(nil), b[:n]...)
		default:
			c.extra = binary.BigEndian.AppendUint32(c.extra, uint32(n))
			c.extra = append(c.extra, b[:n]...)
		}
		b = b[n:]
	}
	return b, nil
}

// picture stores size and rate. Untrusted parameter sets may contain absurd values.
func (c *videoConfig) picture(width, height int, fps float64) error {
	if width <= 0 || height <= 0 || width > maxPictureSize || height > maxPictureSize {
		return fmt.Errorf("picture size of %d x %d", width, height)
	}
	if c.lengthSize == 3 {
		return errors.New("NAL unit lengths of 3 bytes")
	}
	c.track.Width, c.track.Height = width, height
	if fps > 0 && fps <= 1000 && !math.IsNaN(fps) {
		c.track.FrameRate = fps
	}
	return nil
}

// picture is a checked access unit.
type picture struct {
	data []byte // NAL units after 4-byte lengths
	// random: decoding can start at an IDR or other IRAP picture.
	random bool
	// recovery: an SEI message declares that decoding recovers from here.
	recovery bool
}

// checkPicture checks the NAL unit lengths of an access unit and looks for a point at which
// decoding can start. It removes empty NAL units and converts lengths to 4 bytes; if there is
// nothing to change, the result is the input itself. ok is false when the lengths are wrong or
// the result is empty.
func checkPicture(b []byte, codec hub.Codec, lengthSize int) (p picture, ok bool) {
	clean, count, total := lengthSize == 4, 0, 0
	for rest := b; len(rest) > 0; count++ {
		nal, next, ok := cutNAL(rest, lengthSize)
		if !ok || count == maxPictureNALs {
			return picture{}, false
		}
		if len(nal) == 0 {
			clean = false
		} else {
			p.inspect(nal, codec)
			total += 4 + len(nal)
		}
		rest = next
	}
	if clean {
		p.data = b
		return p, total > 0
	}
	p.data = make([]byte, 0, total)
	for rest := b; len(rest) > 0; {
		nal, next, _ := cutNAL(rest, lengthSize)
		if len(nal) > 0 {
			p.data = binary.BigEndian.AppendUint32(p.data, uint32(len(nal)))
			p.data = append(p.data, nal...)
		}
		rest = next
	}
	return p, total > 0
}

func cutNAL(b []byte, lengthSize int) (nal, rest []byte, ok bool) {
	if len(b) < lengthSize {
		return nil, nil, false
	}
	n := 0
	for _, x := range b[:lengthSize] {
		n = n<<8 | int(x)
	}
	if n > len(b)-lengthSize {
		return nil, nil, false
	}
	return b[lengthSize : lengthSize+n], b[lengthSize+n:], true
}

func (p *picture) inspect(nal []byte, codec hub.Codec) {
	if codec == hub.H265 {
		kind := h265.NALUType(nal[0] >> 1 & 0x3F)
		if kind >= h265.NALUType_BLA_W_LP && kind <= h265.NALUType_RSV_IRAP_VCL23 {
			p.random = true
		}
		return
	}
	switch h264.NALUType(nal[0] & 0x1F) {
	case h264.NALUTypeIDR:
		p.random = true
	case h264.NALUTypeSEI:
		p.recovery = p.recovery || hasRecoveryPoint(nal[1:])
	}
}

// hasRecoveryPoint reads the messages of an H.264 SEI NAL unit. It ignores emulation
// prevention: a payload with such bytes can at worst hide the messages after it.
func hasRecoveryPoint(b []byte) bool {
	const recoveryPoint = 6
	number := func() (n int, ok bool) {
		for len(b) > 0 {
			x := b[0]
			b = b[1:]
			n += int(x)
			if x != 0xFF {
				return n, true
			}
		}
		return 0, false
	}
	for len(b) > 1 {
		kind, ok := number()
		if !ok {
			return false
		}
		if kind == recoveryPoint {
			return true
		}
		size, ok := number()
		if !ok || size > len(b) {
			return false
		}
		b = b[size:]
	}
	return false
}
