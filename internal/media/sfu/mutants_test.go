package sfu_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

// aDescription is an offer as a browser makes it, of audio and video.
func aDescription(t *testing.T) []string {
	t.Helper()
	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	require.NoError(t, err)
	defer func() { _ = pc.Close() }()
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
		_, err := pc.AddTransceiverFromKind(kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		require.NoError(t, err)
	}
	offer, err := pc.CreateOffer(nil)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(offer.SDP, "\r\n"), "\r\n")
}

// oddities are unexpected lines for a description.
func oddities() []string {
	var many strings.Builder
	for i := range 200 {
		fmt.Fprintf(&many, "r%d;", i)
	}
	return []string{
		"a=extmap:0 urn:ietf:params:rtp-hdrext:sdes:mid", "a=extmap:255 urn:ietf:params:rtp-hdrext:sdes:mid", "a=extmap:70000 x",
		"a=extmap:-1 urn:ietf:params:rtp-hdrext:ssrc-audio-level", "a=extmap:3", "a=extmap:1/sendonly urn:3gpp:video-orientation",
		"a=extmap:1 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01", "a=extmap-allow-mixed",
		"a=ssrc:1 cname:x", "a=ssrc:4294967296 cname:x", "a=ssrc:1 msid:a b", "a=ssrc:0 msid:", "a=ssrc-group:FID 1 1", "a=ssrc-group:FID 1", "a=ssrc-group:SIM 1 2 3",
		"a=rid:h send", "a=rid:", "a=rid:h", "a=simulcast:send h;q", "a=simulcast:send " + strings.TrimSuffix(many.String(), ";"),
		"a=simulcast:recv h send q", "a=rtpmap:111 opus/0/2", "a=rtpmap:96 VP8/99999999999", "a=rtpmap:200 VP8/90000", "a=rtpmap:x", "a=fmtp:97 apt=97",
		"a=fmtp:96 apt=", "a=rtcp-fb:* nack", "a=rtcp-fb:999 x", "a=setup:active", "a=setup:holdconn", "a=setup:", "a=ice-lite",
		"a=ice-ufrag:", "a=ice-pwd:", "a=ice-ufrag:x", "a=ice-options:renomination trickle", "a=fingerprint:sha-256", "a=fingerprint:md5 00:00",
		"a=group:BUNDLE 0 1 2 3", "a=group:BUNDLE", "a=mid:", "a=mid:9", "a=msid:", "a=msid-semantic: WMS", "a=rtcp-mux-only", "a=sctp-port:5000",
		"a=candidate:1 1 udp 1 fe80::1%eth0 9 typ host", "a=candidate:x", "a=end-of-candidates", "a=bundle-only", "a=inactive", "a=sendrecv",
		"m=audio 0 UDP/TLS/RTP/SAVPF 111", "m=video 9 UDP/TLS/RTP/SAVPF", "m=video 9 RTP/AVP 96 96 96", "m=", "c=IN IP6 ::1", "b=AS:-1", "t=-1 0", "v=1", "",
	}
}

// mutant changes a few lines of a description.
func mutant(lines []string, random *rand.Rand) string {
	odd := oddities()
	out := slices.Clone(lines)
	for range 1 + random.IntN(4) {
		i := random.IntN(len(out))
		switch random.IntN(5) {
		case 0:
			out = slices.Delete(out, i, i+1)
		case 1:
			out = slices.Insert(out, i, odd[random.IntN(len(odd))])
		case 2:
			out[i] = odd[random.IntN(len(odd))]
		case 3:
			out = slices.Insert(out, i, out[random.IntN(len(out))])
		default:
			out[i] = out[i][:random.IntN(len(out[i])+1)]
		}
		if len(out) == 0 {
			break
		}
	}
	return strings.Join(out, "\r\n") + "\r\n"
}

// TestMutatedDescriptionsEndNothing: pion applies some of them in part, and acts on them in
// goroutines of its own. Each offer is answered, and other participants' media continues.
func TestMutatedDescriptionsEndNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.Limits.Offers, c.Limits.Messages = 100_000, 100_000 })
	mallory := r.join(t, "mallory")
	lines := aDescription(t)
	random := rand.New(rand.NewPCG(1, 2))
	tracks := []any{map[string]any{"mid": "0", "source": "microphone"}, map[string]any{"mid": "1", "source": "camera"}}
	for i := range 400 {
		mallory.Send(t, map[string]any{"type": "offer", "id": i, "sdp": mutant(lines, random), "tracks": tracks})
		mallory.Expect(t, fmt.Sprintf("a word on offer %d", i), func(m sfutest.Message) bool {
			return m.Type == "answer" && m.ID == float64(i) || m.Type == "error" && m.Re == float64(i)
		})
	}
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	ada.Publish(t, sfutest.Microphone())
	bob.Hears(t, bob.ExpectTrack(t, "ada", "microphone").ID, 5)
}
