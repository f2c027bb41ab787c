package forward

import (
	"strconv"
	"testing"

	"github.com/pion/rtp"
)

// BenchmarkForward measures one packet to one subscriber, without encryption and socket.
func BenchmarkForward(b *testing.B) {
	for _, batch := range []int{1, 8} {
		b.Run("1->100/batch="+strconv.Itoa(batch), func(b *testing.B) {
			r := newRig(b)
			track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
			for range 100 {
				r.receiver().add(track, func(c *SinkConfig) {
					c.Write = func(*rtp.Header, []byte) (int, error) { return 0, nil }
					c.Extensions.TransportCC = 3
				})
			}
			r.run()
			track.Write(0, raw(b, 1, 100, 7, vp8Key))
			delta := raw(b, 2, 200, 7, append(vp8Delta, make([]byte, 1150)...))
			seq := uint16(2)
			r.send()
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += 100 * batch {
				for range batch {
					delta[2], delta[3] = byte(seq>>8), byte(seq)
					seq++
					track.Write(0, delta)
				}
				r.send()
			}
		})
	}
}

// BenchmarkWrite measures one incoming packet.
func BenchmarkWrite(b *testing.B) {
	r := newRig(b)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	delta := raw(b, 2, 200, 7, append(vp8Delta, make([]byte, 1150)...))
	seq := uint16(2)
	b.ReportAllocs()
	for b.Loop() {
		delta[2], delta[3] = byte(seq>>8), byte(seq)
		seq++
		track.Write(0, delta)
	}
}
