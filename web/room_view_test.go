package web_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// toggleMore opens or closes the menu "More". It needs no coordinates: a role that changes moves the button.
func (h *hosting) toggleMore(t *testing.T, open bool) {
	t.Helper()
	does(t, h.tab, `document.querySelector("[data-control=more]").click()`)
	browsertest.WaitFor(t, h.tab, fmt.Sprintf(`(document.querySelector(".menu") !== null) === %t`, open))
}

// chooses clicks an item of the menu "More".
func (h *hosting) chooses(t *testing.T, item string) {
	t.Helper()
	h.toggleMore(t, true)
	// A real click: the browser opens windows and copies only after one.
	does(t, h.tab, `[...document.querySelectorAll(".menu button")].find((b) => b.textContent === "`+item+`").id = "chosen"`)
	browsertest.Run(t, h.tab, chromedp.Click(chromedp.CSS("#chosen")))
	browsertest.WaitFor(t, h.tab, `document.querySelector(".menu") === null`)
}

// offers reports whether the menu "More" has an item.
func (h *hosting) offers(t *testing.T, item string) bool {
	t.Helper()
	h.toggleMore(t, true)
	found := browsertest.Value[bool](t, h.tab, `[...document.querySelectorAll(".menu button")].some((b) => b.textContent === "`+item+`")`)
	h.toggleMore(t, false)
	return found
}

func TestRoomPagePinsAndHidesTheOwnTile(t *testing.T) {
	t.Parallel()
	h := host(t, "", nil, someone("ben", "Ben Sato", "guest"), someone("cleo", "Cleo Martin", "guest"))
	const own = `document.querySelector(".tile[data-user=ada]")`
	for name, look := range map[string]func(*testing.T, context.Context){"desk": wide, "phone": narrow} {
		look(t, h.tab)
		arranged(t, h.tab)
		h.toggleMore(t, true)
		picture(t, h.tab, "room-more-"+name)
		h.toggleMore(t, false)
	}
	h.chooses(t, "Pinned: always large")
	browsertest.WaitFor(t, h.tab, own+`.classList.contains("main")`)
	both(t, h.tab, "room-own-pinned")
	require.True(t, browsertest.Value[bool](t, h.tab, tilesLieWell))
	h.c.send(message{"type": "session", "session": message{"layout": "spotlight"}})
	browsertest.WaitFor(t, h.tab, `document.querySelectorAll(".tile:not([hidden])").length === 3`)
	h.chooses(t, "Hidden: only from you")
	browsertest.WaitFor(t, h.tab, own+` === null`)
	require.True(t, browsertest.Value[bool](t, h.tab, `showfloorRoom.meeting.room.isOn("camera")`), "the others still see it")
	both(t, h.tab, "room-own-hidden")

	// A reload keeps the choice.
	browsertest.Run(t, h.tab, chromedp.Reload())
	h.c = h.s.next()
	h.c.send(welcome(someone("ada", "Ada Okafor", "host"), someone("ben", "Ben Sato", "guest")))
	browsertest.WaitFor(t, h.tab, roomIsOpen+` && document.querySelector(".tile[data-user=ben]") !== null`)
	require.True(t, browsertest.Value[bool](t, h.tab, own+` === null`))
	h.chooses(t, "With the others")
	browsertest.WaitFor(t, h.tab, own+` !== null`)
}

func TestRoomPageCopiesTheInviteLink(t *testing.T) {
	t.Parallel()
	const item = "Copy the invite link"
	require.False(t, host(t, "", nil).offers(t, item), "the page knows only the user's own link")
	require.False(t, host(t, "&invite=javascript:alert(1)", nil).offers(t, item))
	h := host(t, "&invite=https%3A%2F%2Facme.example%2Fjoin%2F42", nil)
	_, err := chromedp.CallBrowser(h.tab, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: browser.PermissionSettingGranted,
		BrowserContextID: chromedp.FromContext(h.tab).BrowserContextID,
	})
	require.NoError(t, err)
	h.chooses(t, item)
	browsertest.WaitFor(t, h.tab, noticeSays("The invite link is copied."))
	does(t, h.tab, `navigator.clipboard.readText().then((text) => (globalThis.copied = text))`)
	browsertest.WaitFor(t, h.tab, `globalThis.copied === "https://acme.example/join/42"`)
	h.c.send(message{"type": "participant", "participant": someone("ada", "Ada Okafor", "guest")})
	browsertest.WaitFor(t, h.tab, `showfloorRoom.meeting.room.self.role === "guest"`)
	require.False(t, h.offers(t, item), "guests don't invite")
}

// TestRoomPageFloatsAVideo shows a video on top of other windows. The server sends it even while the page is hidden.
func TestRoomPageFloatsAVideo(t *testing.T) {
	t.Parallel()
	h := host(t, "", nil, someone("ben", "Ben Sato", "guest"))
	const item = "Picture in picture"
	require.False(t, h.offers(t, item), "no video is shown")
	track := message{"id": "v1", "userId": "ben", "source": "camera", "kind": "video", "muted": false, "layers": []message{}}
	h.c.send(message{"type": "track", "track": track})
	does(t, h.tab, `(() => {
		const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 180 });
		const pen = canvas.getContext("2d");
		setInterval(() => { pen.fillStyle = "#" + Math.floor(Math.random() * 4096).toString(16).padStart(3, "0"); pen.fillRect(0, 0, 320, 180); }, 50);
		globalThis.picture = canvas.captureStream(20);
	})()`)
	browsertest.WaitFor(t, h.tab, `(() => {
		const video = document.querySelector(".tile[data-user=ben] video");
		if (video.srcObject !== globalThis.picture) video.srcObject = globalThis.picture;
		return video.videoWidth > 0;
	})()`)
	h.chooses(t, item)
	browsertest.WaitFor(t, h.tab, `document.pictureInPictureElement?.closest(".tile").dataset.user === "ben"`)
	does(t, h.tab, `Object.defineProperty(document, "hidden", { get: () => true, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`)
	h.c.send(message{"type": "session", "session": message{"layout": "speaker"}})
	require.False(t, h.view(t, func(v message) bool { return v["width"].(float64) > 1200 })["hidden"].(bool), "it grows, and is sent")
	h.chooses(t, "Leave picture in picture")
	browsertest.WaitFor(t, h.tab, `document.pictureInPictureElement === null`)
	h.view(t, func(v message) bool { return v["hidden"].(bool) })

	does(t, h.tab, `Object.defineProperty(document, "pictureInPictureEnabled", { value: false })`)
	require.False(t, h.offers(t, item), "the browser can't")
}

// view returns the next view of the first track that the page reports and is accepts.
func (h *hosting) view(t *testing.T, is func(message) bool) message {
	t.Helper()
	for {
		tracks, _ := h.c.hear("view")["tracks"].([]any)
		require.NotEmpty(t, tracks)
		if v, ok := tracks[0].(message); ok && is(v) {
			return v
		}
	}
}

// TestRoomPageShowsTheQualityOfConnections gives the page the statistics of a good and of a poor connection.
func TestRoomPageShowsTheQualityOfConnections(t *testing.T) {
	t.Parallel()
	h := host(t, "", nil, someone("ben", "Ben Sato", "guest"), someone("cleo", "Cleo Martin", "guest"))
	for _, user := range []string{"ben", "cleo"} {
		h.c.send(message{"type": "track", "track": message{
			"id": user, "userId": user, "source": "microphone", "kind": "audio", "muted": false, "layers": []message{},
		}})
	}
	h.c.send(message{"type": "offer", "id": 1, "sdp": offerOf(t, 2), "tracks": []message{{"mid": "0", "id": "ben"}, {"mid": "1", "id": "cleo"}}})
	h.c.hear("answer")
	does(t, h.tab, `(() => {
		let received = 0;
		const { room } = showfloorRoom.meeting;
		const inbound = (id, lost) => ({ type: "inbound-rtp", trackIdentifier: room.mediaOf(id).id, packetsReceived: received, packetsLost: lost });
		RTCPeerConnection.prototype.getStats = async () => {
			received += 100;
			return new Map(Object.entries({
				ben: inbound("ben", received * 0.01), cleo: inbound("cleo", received * 0.2),
				sent: { type: "outbound-rtp", packetsSent: received },
				remote: { type: "remote-inbound-rtp", packetsLost: received * 0.3, roundTripTime: 0.05 },
			}));
		};
	})()`)
	shows := func(user, label string) {
		browsertest.WaitFor(t, h.tab, `document.querySelector(".tile[data-user=`+user+`] .tile-quality:not([hidden])")?.ariaLabel === "`+label+`"`)
	}
	shows("ben", "good connection")
	shows("cleo", "poor connection")
	shows("ada", "poor connection")
	require.Equal(t, "Your connection is poor", browsertest.Value[string](t, h.tab, `document.getElementById("announce").textContent`))
	both(t, h.tab, "room-quality")
}
