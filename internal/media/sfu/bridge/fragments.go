package bridge

import "github.com/pion/rtp/codecs"

// fragments assembles NAL units of H.264 after lengths of 4 bytes. Unlike codecs.H264Packet, it
// forgets the fragments of a NAL unit whose end is missing when the next one begins. Otherwise they
// would become the beginning of the next one, which is the key frame after a mute.
type fragments struct{ codecs.H264Packet }

func newFragments() *fragments { return &fragments{codecs.H264Packet{IsAVC: true}} }

// The first two bytes of a fragment, RFC 6184, 5.8.
const (
	nalTypeMask   = 0x1F
	nalTypeFUA    = 28
	fragmentStart = 0x80
)

// Unmarshal returns the NAL units that end in a packet's payload.
func (f *fragments) Unmarshal(payload []byte) ([]byte, error) {
	if len(payload) >= 2 && (payload[0]&nalTypeMask != nalTypeFUA || payload[1]&fragmentStart != 0) {
		f.H264Packet = codecs.H264Packet{IsAVC: true}
	}
	return f.H264Packet.Unmarshal(payload) //nolint:wrapcheck // the builder only counts errors
}
