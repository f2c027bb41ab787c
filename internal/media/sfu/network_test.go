package sfu_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/pion/dtls/v3"
	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

// exchange publishes media of two clients to each other.
func exchange(t *testing.T, ada, bob *sfutest.Client) {
	t.Helper()
	there := ada.Publish(t, sfutest.Microphone(), sfutest.Camera())
	back := bob.Publish(t, sfutest.Microphone())
	for _, o := range there {
		bob.Hears(t, o.ID, 20)
	}
	ada.Hears(t, back[0].ID, 20)
}

func TestOverTCPAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	overTCP := func(o *sfutest.Options) { o.TCPOnly = true }
	ada, bob := r.join(t, "ada:host", overTCP), r.join(t, "bob", overTCP)
	exchange(t, ada, bob)
	require.Contains(t, bob.Path(t), "tcp")
}

func TestThroughTheRelayAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.TURNAddr = "127.0.0.1:0" })
	relayed := func(o *sfutest.Options) { o.RelayOnly = true }
	ada, bob := r.join(t, "ada:host", relayed), r.join(t, "bob", relayed)
	servers := ada.Messages()[0].ICEServers
	require.Len(t, servers, 1)
	require.Equal(t, "turn:"+r.server.TURNAddr().String()+"?transport=udp", servers[0].URLs[0])
	exchange(t, ada, bob)
	require.Contains(t, bob.Path(t), "relay")
}

func TestExternalAddressesAreOffered(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) {
		c.ExternalIPs = []netip.Addr{netip.MustParseAddr("203.0.113.7")}
		c.TURNAddr = "127.0.0.1:0"
	})
	ada := r.join(t, "ada:host")
	require.True(t, strings.HasPrefix(ada.Messages()[0].ICEServers[0].URLs[0], "turn:203.0.113.7:"))
	ada.Publish(t, sfutest.Microphone())
	answer := ada.Expect(t, "an answer", func(m sfutest.Message) bool { return m.Type == "answer" })
	require.Contains(t, answer.SDP, " 203.0.113.7 ")
	require.NotContains(t, answer.SDP, " 127.0.0.1 ")
	require.Contains(t, answer.SDP, "a=ice-lite")
	require.Contains(t, answer.SDP, " tcp ")
}

func TestICERestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	mic := ada.Publish(t, sfutest.Microphone())[0]
	bob.Hears(t, mic.ID, 5)
	ada.RestartPublish(t)
	n := len(bob.Messages())
	bob.Send(t, map[string]any{"type": "restart", "pc": "subscribe"})
	before := bob.Expect(t, "an offer", func(m sfutest.Message) bool { return m.Type == "offer" })
	after := bob.ExpectAfter(t, n, "a new offer", func(m sfutest.Message) bool { return m.Type == "offer" })
	require.NotEqual(t, ufrag(before.SDP), ufrag(after.SDP))
	bob.Hears(t, mic.ID, 50)
}

func ufrag(sdp string) string {
	_, rest, _ := strings.Cut(sdp, "a=ice-ufrag:")
	u, _, _ := strings.Cut(rest, "\r\n")
	return u
}

func TestSimulcast(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	camera := sfutest.Camera()
	camera.RIDs = []string{"q", "h", "f"}
	o := ada.Publish(t, camera)[0]
	bob.Hears(t, o.ID, 20)
	require.Len(t, bob.ExpectTrackWith(t, o.ID).Layers, 3)
	bob.Expect(t, "the layers' sizes", func(m sfutest.Message) bool {
		return m.Type == "track" && m.Track.ID == o.ID && m.Track.Layers[2].Width == 640
	})
	n := len(ada.Messages())
	bob.Send(t, map[string]any{"type": "view", "tracks": []any{map[string]any{"id": o.ID, "width": 100.5, "height": 60, "hidden": true}}})
	ada.ExpectAfter(t, n, "no viewers", func(m sfutest.Message) bool {
		return m.Type == "layers" && m.ID == o.ID && len(m.Active) == 3 && !m.Active[0] && !m.Active[1] && !m.Active[2]
	})
	n = len(ada.Messages())
	bob.Send(t, map[string]any{"type": "view", "tracks": []any{map[string]any{"id": o.ID, "width": 100, "height": 60}}})
	ada.ExpectAfter(t, n, "the small one is wanted", func(m sfutest.Message) bool {
		return m.Type == "layers" && m.ID == o.ID && m.Active[0] && !m.Active[2]
	})
	bob.Hears(t, o.ID, 20)
}

func TestACodecThatASubscriberCantDecode(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada := r.join(t, "ada:host")
	picture := ada.Publish(t, sfutest.Microphone(), sfutest.Media{Source: "camera", Mime: webrtc.MimeTypeVP8})
	bob := r.join(t, "bob", func(o *sfutest.Options) { o.Codecs = []string{webrtc.MimeTypeOpus, webrtc.MimeTypeH264} })
	bob.Expect(t, "a refusal", func(m sfutest.Message) bool {
		return m.Type == "error" && m.Code == "unsupported_codec" && m.Re == picture[1].ID
	})
	bob.Hears(t, picture[0].ID, 5)
	cat := r.join(t, "cat:host")
	screen := cat.Publish(t, sfutest.Media{Source: "screen", Mime: webrtc.MimeTypeH264})[0]
	bob.Hears(t, screen.ID, 5)
	ada.Hears(t, screen.ID, 5)
}

func TestTracksComeAndGo(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	defer keepAlive(ada)() // otherwise a slow machine takes its socket for dead
	defer keepAlive(bob)()
	mic := ada.Publish(t, sfutest.Microphone())[0]
	for range 3 {
		o := ada.Publish(t, sfutest.Screen())[0]
		bob.Hears(t, o.ID, 5)
		ada.Unpublish(t, o)
		bob.Expect(t, "its end", func(m sfutest.Message) bool { return m.Type == "untrack" && m.ID == o.ID })
		givesBack(t, bob, o.ID)
	}
	bob.Hears(t, mic.ID, 5)
	require.Equal(t, 2, bob.Sections(), "media sections are used again")
}

// givesBack waits until the server has noted that a track's section is free.
func givesBack(t *testing.T, c *sfutest.Client, id string) {
	t.Helper()
	eventually(t, "an offer without the track", func() bool {
		list := c.Messages()
		for i := range list {
			if m := list[len(list)-1-i]; m.Type == "offer" {
				return !slices.ContainsFunc(m.Tracks, func(raw json.RawMessage) bool { return strings.Contains(string(raw), id) })
			}
		}
		return false
	})
	// The server handles messages in their order: the answer before this one.
	c.Send(t, map[string]any{"type": "mute", "id": id, "muted": true})
	c.Expect(t, "that this isn't its track", func(m sfutest.Message) bool { return m.Type == "error" && m.Re == id })
}

// TestMediaIsEncryptedWithGCM: in both directions, also with clients that prefer AES-CM, since the
// DTLS server chooses.
func TestMediaIsEncryptedWithGCM(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	prefersCM := func(o *sfutest.Options) { o.AESCMFirst = true }
	ada, bob := r.join(t, "ada:host", prefersCM), r.join(t, "bob", prefersCM)
	mic, back := ada.Publish(t, sfutest.Microphone())[0], bob.Publish(t, sfutest.Microphone())[0]
	bob.Hears(t, mic.ID, 5)
	ada.Hears(t, back.ID, 5)
	publish, subscribe := ada.Profiles(t)
	require.Equal(t, dtls.SRTP_AEAD_AES_128_GCM, publish, "ada's sent bytes")
	require.Equal(t, dtls.SRTP_AEAD_AES_128_GCM, subscribe, "ada's received bytes")
}

// TestOneOfTwoOpusPayloadTypesIsAgreedOn: the client chooses which payload type of the answer it
// sends.
func TestOneOfTwoOpusPayloadTypesIsAgreedOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	bob := r.join(t, "bob")
	sdp := "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\na=ice-ufrag:abcd\r\na=ice-pwd:abcdabcdabcdabcdabcdabcd\r\n" +
		"a=fingerprint:sha-256 " + strings.Repeat("00:", 31) + "00\r\na=setup:actpass\r\nm=audio 9 UDP/TLS/RTP/SAVPF 9 109 111\r\n" +
		"c=IN IP4 0.0.0.0\r\na=mid:0\r\na=sendonly\r\na=rtcp-mux\r\na=rtpmap:9 G722/8000\r\na=rtpmap:109 opus/48000/2\r\na=rtpmap:111 opus/48000/2\r\n"
	bob.Send(t, map[string]any{"type": "offer", "id": 1, "sdp": sdp, "tracks": []any{map[string]any{"mid": "0", "source": "microphone"}}})
	answer := bob.Expect(t, "an answer", func(m sfutest.Message) bool { return m.Type == "answer" })
	require.Contains(t, answer.SDP, "SAVPF 109\r\n")
	require.Contains(t, answer.SDP, "a=setup:passive")
}
