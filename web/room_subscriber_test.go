package web_test

import (
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// offerOf returns the offer of a new connection that sends sound in so many sections.
func offerOf(t *testing.T, sections int) string {
	t.Helper()
	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pc.Close() })
	for range sections {
		_, err := pc.AddTransceiverFromKind(webrtc.RTPCodecTypeAudio, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		require.NoError(t, err)
	}
	offer, err := pc.CreateOffer(nil)
	require.NoError(t, err)

	return offer.SDP
}

// TestRoomPageAnswersAnotherConnection: the server replaces the connection on which it sends. Its
// next offer has fewer sections, which the old connection can't apply.
func TestRoomPageAnswersAnotherConnection(t *testing.T) {
	t.Parallel()

	s := newScript(t)
	s.sessions["sess_1"] = aSession("sess_1")
	origin := serve(t, s.handlers())
	tab := tabWithDevices(t)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_1&token="+ticketFor(t, "sess_1", "ada")))
	browsertest.WaitFor(t, tab, lobbyIsReady)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
	c := s.next()
	c.send(welcome(someone("ada", "Ada Okafor", "host")))

	first := offerOf(t, 2)
	fingerprint := func(id int, offer string) string {
		c.send(message{"type": "offer", "id": id, "sdp": offer, "tracks": []message{}})
		answer := c.hear("answer")
		require.InDelta(t, id, answer["id"], 0)
		sdp, _ := answer["sdp"].(string)
		found := regexp.MustCompile(`a=fingerprint:\S+ (\S+)`).FindStringSubmatch(sdp)
		require.Len(t, found, 2, sdp)

		return found[1]
	}
	before := fingerprint(1, first)
	require.Equal(t, before, fingerprint(2, first), "the same connection")
	require.NotEqual(t, before, fingerprint(3, offerOf(t, 1)))
}
