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

// damaged is what a payload that can't be read adds to its picture: a NAL unit without bytes, which
// cutPicture refuses. After an error, the builder would leave out the picture without a trace.
const damaged = "\x00\x00\x00\x00"

// Unmarshal returns the NAL units that end in a packet's payload. It never fails.
func (f *fragments) Unmarshal(payload []byte) ([]byte, error) {
	if len(payload) >= 2 && (payload[0]&nalTypeMask != nalTypeFUA || payload[1]&fragmentStart != 0) {
		f.H264Packet = codecs.H264Packet{IsAVC: true}
	}
	nalus, err := f.H264Packet.Unmarshal(payload)
	if err != nil {
		return []byte(damaged), nil //nolint:nilerr // see damaged
	}
	return nalus, nil
}
