package sfu_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/sfu/sfutest"
)

func takesRED(o *sfutest.Options) { o.RED = true }

// redundant is a microphone that sends each frame twice.
func redundant() sfutest.Media {
	return sfutest.Media{Source: "microphone", Mime: webrtc.MimeTypeOpus, RED: true}
}

// gets waits for 20 more packets of one kind of audio.
func gets(t *testing.T, c *sfutest.Client, id, what string, count func(sfutest.Received) int) {
	t.Helper()
	want := count(c.Received(id)) + 20
	eventually(t, what, func() bool { return count(c.Received(id)) >= want })
}

func inRED(r sfutest.Received) int   { return r.RED }
func inPlain(r sfutest.Received) int { return r.Plain }

func TestRedundantAudioGoesToSubscribersThatNegotiatedIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada := r.join(t, "ada:host", takesRED)
	bob, cara := r.join(t, "bob", takesRED), r.join(t, "cara")
	mic := ada.Publish(t, redundant())[0]
	answer := ada.Expect(t, "an answer", func(m sfutest.Message) bool { return m.Type == "answer" })
	require.Contains(t, answer.SDP, "m=audio 9 UDP/TLS/RTP/SAVPF 63 111\r\n", "in the order of the offer")
	require.Contains(t, answer.SDP, "a=fmtp:63 111/111\r\n")
	gets(t, bob, mic.ID, "RED for who takes it", inRED)
	gets(t, cara, mic.ID, "Opus for who doesn't", inPlain)
	mic.SendRED(false)
	gets(t, bob, mic.ID, "Opus as it is sent", inPlain)
	gets(t, cara, mic.ID, "Opus as it is sent", inPlain)
	mic.SendRED(true)
	gets(t, bob, mic.ID, "RED again", inRED)
	gets(t, cara, mic.ID, "Opus still", inPlain)
	heard := cara.Received(mic.ID)
	require.Equal(t, heard.Packets, heard.Plain, "no redundancy reaches who can't read it")
	// A subscriber that joins later receives RED, beside a track without it.
	dan := r.join(t, "dan", takesRED)
	back := cara.Publish(t, sfutest.Microphone())[0]
	gets(t, dan, mic.ID, "RED", inRED)
	gets(t, dan, back.ID, "Opus", inPlain)
	gets(t, bob, back.ID, "Opus", inPlain)
	require.Zero(t, r.server.Stats().Malformed)
}

func TestRedundantSoundIsMuted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada, bob := r.join(t, "ada:host", takesRED), r.join(t, "bob", takesRED)
	outputs := ada.Publish(t, redundant(), sfutest.Camera())
	mic := outputs[0]
	gets(t, bob, mic.ID, "RED", inRED)
	muted := func(yes bool) func(sfutest.Message) bool {
		return func(m sfutest.Message) bool { return m.Type == "track" && m.Track.ID == mic.ID && m.Track.Muted == yes }
	}
	n := len(bob.Messages())
	ada.Send(t, map[string]any{"type": "mute", "id": mic.ID, "muted": true})
	bob.ExpectAfter(t, n, "it is muted", muted(true))
	bob.Sees(t, outputs[1].ID, 20) // packets that were on their way have arrived
	before := bob.Received(mic.ID).Packets
	bob.Sees(t, outputs[1].ID, 50)
	require.Equal(t, before, bob.Received(mic.ID).Packets)
	n = len(bob.Messages())
	ada.Send(t, map[string]any{"type": "mute", "id": mic.ID, "muted": false})
	bob.ExpectAfter(t, n, "it is not any more", muted(false))
	gets(t, bob, mic.ID, "RED", inRED)
}

func TestABroadcastHasNoRedundancy(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	host := s.join(t, "ada:host", takesRED)
	host.Publish(t, redundant(), stage()[1])
	var stream *hub.Stream
	eventually(t, "the broadcast", func() (live bool) {
		stream, live = s.hub.Stream("sess_1")
		return live
	})
	reader := stream.Subscribe()
	frame := next(t, reader, sound).Data
	for bytes.Equal(frame, []byte{0xfc, 0xff, 0xfe}) { // silence until the first packet arrives
		frame = next(t, reader, sound).Data
	}
	for range 20 {
		require.Equal(t, []byte{0x78, 1, 2, 3, 4, 5, 6, 7}, frame)
		frame = next(t, reader, sound).Data
	}
}

// TestOnlyREDOfTheSectionsOpusIsTaken: the answer contains no other RED.
func TestOnlyREDOfTheSectionsOpusIsTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for i, red := range []string{
		"a=rtpmap:63 red/48000/2\r\na=fmtp:63 0/0\r\n", "a=rtpmap:63 red/48000/2\r\n", "a=rtpmap:63 red/48000/2\r\na=fmtp:63 111/0\r\n",
		"a=rtpmap:63 red/8000\r\na=fmtp:63 111/111\r\n", "a=rtpmap:63 red/48000/2\r\na=fmtp:63 63/63\r\n", "a=rtpmap:63 red/48000/2\r\na=fmtp:63 /\r\n",
		"a=rtpmap:63 RED/48000/2\r\na=fmtp:63 111/111/111\r\n",
	} {
		bob := r.join(t, "bob")
		sdp := "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\na=ice-ufrag:abcd\r\na=ice-pwd:abcdabcdabcdabcdabcdabcd\r\n" +
			"a=fingerprint:sha-256 " + strings.Repeat("00:", 31) + "00\r\na=setup:actpass\r\nm=audio 9 UDP/TLS/RTP/SAVPF 63 111\r\n" +
			"c=IN IP4 0.0.0.0\r\na=mid:0\r\na=sendonly\r\na=rtcp-mux\r\n" + red + "a=rtpmap:111 opus/48000/2\r\na=fmtp:111 useinbandfec=0\r\n"
		bob.Send(t, map[string]any{"type": "offer", "id": 1, "sdp": sdp, "tracks": []any{map[string]any{"mid": "0", "source": "microphone"}}})
		answer := bob.Expect(t, "an answer", func(m sfutest.Message) bool { return m.Type == "answer" })
		want := "SAVPF 111\r\n"
		if i == 6 {
			want = "SAVPF 63 111\r\n"
		}
		require.Contains(t, answer.SDP, want, red)
	}
}
