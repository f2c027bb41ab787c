package web_test

import (
	"context"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/flowtest"
)

const (
	smallWidth  = 360
	smallHeight = 740
)

func noticeShows(text string) string {
	return `!document.getElementById("door").hidden && document.getElementById("door-title").textContent.includes("` + text + `")`
}

const (
	lobbyIsReady = `!document.getElementById("lobby").hidden && document.getElementById("preview").videoWidth > 0`
	roomIsOpen   = `!document.getElementById("room").hidden`
	fitsAcross   = `document.documentElement.scrollWidth <= innerWidth`
	dialogFits   = `(({ left, right, top, bottom }) => left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight)(document.querySelector("dialog").getBoundingClientRect())`
	// tilesLieWell reports whether no tile is outside of the stage or overlaps another one,
	// except for the user's own tile in the corner.
	tilesLieWell = `(() => {
		const stage = document.getElementById("stage").getBoundingClientRect();
		const tiles = [...document.querySelectorAll(".tile:not([hidden])")].map((t) => t.getBoundingClientRect());
		const inside = (a) => a.left >= stage.left - 1 && a.top >= stage.top - 1 && a.right <= stage.right + 1 && a.bottom <= stage.bottom + 1;
		const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
		return tiles.length > 0 && tiles.every(inside) && tiles.every((a, i) => tiles.slice(i + 1).every((b) => !over(a, b)));
	})()`
)

// picture takes a screenshot once only videos move, and tests what the page shows for accessibility.
func picture(t *testing.T, tab context.Context, name string) {
	t.Helper()
	browsertest.WaitFor(t, tab, `document.getAnimations().length === 0`)
	browsertest.Screenshot(t, tab, name)
	accessible(t, tab, name)
}

func TestRoomPageSaysHowToGetALink(t *testing.T) {
	t.Parallel()

	origin := serve(t, nil)
	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, deskWidth, deskHeight, false)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference"))
	browsertest.WaitFor(t, tab, `document.getElementById("how-session").textContent.includes("/v1/me/sessions")`)
	picture(t, tab, "room-how-light")
	browsertest.Look(t, tab, smallWidth, smallHeight, true)
	require.True(t, browsertest.Value[bool](t, tab, fitsAcross))
	picture(t, tab, "room-how-phone-dark")
	require.Empty(t, log.Complaints())
}

func TestRoomPageGoesThroughItsScreens(t *testing.T) {
	t.Parallel()

	s := newScript(t)
	s.sessions["sess_1"] = aSession("sess_1")
	origin := serve(t, s.handlers())
	tab := tabWithDevices(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, deskWidth, deskHeight, false)
	flowtest.Step(t, "lobby", func(t *testing.T) {
		browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_1&token="+ticketFor(t, "sess_1", "ada")))
		browsertest.WaitFor(t, tab, lobbyIsReady)
		require.Equal(t, origin+"/scenarios/conference/?room=sess_1", browsertest.Value[string](t, tab, `location.href`), "the token has left")
		picture(t, tab, "room-lobby-light")
		browsertest.Look(t, tab, smallWidth, smallHeight, true)
		require.True(t, browsertest.Value[bool](t, tab, fitsAcross))
		picture(t, tab, "room-lobby-phone-dark")
		browsertest.Look(t, tab, deskWidth, deskHeight, true)
		browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
	})
	c := s.next()
	self := someone("ada", "Ada Okafor", "host")
	waits := someone("ada", "Ada Okafor", "host")
	waits["state"] = "waiting"
	flowtest.Step(t, "waiting room", func(t *testing.T) {
		c.send(welcome(waits))
		browsertest.WaitFor(t, tab, noticeShows("waiting room"))
		picture(t, tab, "room-waiting-dark")
	})
	others := []message{someone("ben", "Ben Sato", "cohost"), someone("cleo", "Cleo Martin", "guest"), someone("dora", "Dora", "guest"), someone("eve", "Eve Lindqvist", "guest")}
	others[2]["handRaised"] = true
	knocking := someone("fay", "Fay Wong", "guest")
	knocking["state"] = "waiting"
	flowtest.Step(t, "grid", func(t *testing.T) {
		c.send(welcome(self, append(others, knocking)...))
		browsertest.WaitFor(t, tab, roomIsOpen)
		require.Len(t, c.hear("offer")["tracks"], 2)
		c.send(message{"type": "speakers", "speakers": []message{{"userId": "ben", "level": 0.6}}})
		browsertest.WaitFor(t, tab, `document.querySelector(".tile.speaks")?.dataset.user === "ben"`)
		picture(t, tab, "room-grid-dark")
		require.True(t, browsertest.Value[bool](t, tab, tilesLieWell))
		browsertest.Look(t, tab, deskWidth, deskHeight, false)
	})
	flowtest.Step(t, "people, their menus and breakout rooms", func(t *testing.T) {
		browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("[data-control=people]")))
		browsertest.WaitFor(t, tab, `document.querySelectorAll(".people-panel li").length === 7`)
		picture(t, tab, "room-people-light")
		browsertest.Run(t, tab, chromedp.Click(chromedp.CSS(`.group:last-of-type li[data-user=cleo] button`)))
		browsertest.WaitFor(t, tab, `document.activeElement.getAttribute("role") === "menuitem"`)
		picture(t, tab, "room-menu-light")
		browsertest.Run(t, tab, chromedp.KeyEvent(kb.Escape))
		browsertest.WaitFor(t, tab, `!document.querySelector(".menu")`)
		browsertest.Run(t, tab, chromedp.Click(chromedp.CSS(`.tool-buttons button:last-child`)))
		browsertest.WaitFor(t, tab, `document.querySelectorAll("dialog[open] li").length === 4`)
		picture(t, tab, "room-breakouts-light")
		browsertest.Run(t, tab, chromedp.KeyEvent(kb.Escape))
		browsertest.WaitFor(t, tab, `!document.querySelector("dialog")`)
	})
	flowtest.Step(t, "layouts", func(t *testing.T) {
		for _, layout := range []string{"speaker", "sidebar", "spotlight"} {
			c.send(message{"type": "session", "session": message{"layout": layout}})
			browsertest.WaitFor(t, tab, `document.getElementById("stage").dataset.layout === "`+layout+`"`)
			picture(t, tab, "room-"+layout+"-light")
			require.True(t, layout == "spotlight" || browsertest.Value[bool](t, tab, tilesLieWell), layout)
		}
	})
	flowtest.Step(t, "chat, on a phone too", func(t *testing.T) {
		c.send(message{"type": "session", "session": message{"layout": "grid"}})
		browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("[data-control=chat]")))
		picture(t, tab, "room-chat-light")
		browsertest.Look(t, tab, smallWidth, smallHeight, true)
		picture(t, tab, "room-chat-phone-dark")
	})
	flowtest.Step(t, "grid, people and leaving on a phone", func(t *testing.T) {
		browsertest.Run(t, tab, chromedp.Click(chromedp.CSS(".panel-head button")))
		browsertest.WaitFor(t, tab, `document.getElementById("stage").clientWidth > 300`)
		require.True(t, browsertest.Value[bool](t, tab, fitsAcross))
		picture(t, tab, "room-grid-phone-dark")
		require.True(t, browsertest.Value[bool](t, tab, tilesLieWell))
		browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("[data-control=people]")))
		picture(t, tab, "room-people-phone-dark")
		browsertest.Run(t, tab, chromedp.Click(chromedp.CSS(`.tool-buttons button:last-child`)))
		browsertest.WaitFor(t, tab, `document.querySelectorAll("dialog[open] li").length === 4`)
		require.True(t, browsertest.Value[bool](t, tab, dialogFits))
		picture(t, tab, "room-breakouts-phone-dark")
		browsertest.Run(t, tab, chromedp.KeyEvent(kb.Escape))
		browsertest.WaitFor(t, tab, `!document.querySelector("dialog")`)
		browsertest.Run(t, tab, chromedp.Click(chromedp.CSS(".panel-head button")), chromedp.Click(chromedp.CSS("[data-control=leave]")))
		browsertest.WaitFor(t, tab, `document.querySelectorAll(".menu button").length === 2`)
		picture(t, tab, "room-leave-phone-dark")
		require.True(t, browsertest.Value[bool](t, tab, fitsAcross))
		browsertest.Run(t, tab, chromedp.KeyEvent(kb.Escape))
	})
	flowtest.Step(t, "removal", func(t *testing.T) {
		c.send(message{"type": "bye", "code": "kicked", "message": "removed", "retry": false})
		browsertest.WaitFor(t, tab, noticeShows("You were removed"))
		picture(t, tab, "room-kicked-phone-dark")
		require.Empty(t, log.Complaints())
		require.Empty(t, log.Outside(origin))
	})
}

// TestRoomPageAsksPublishersForDevices checks that a viewer is not asked for devices
// and doesn't see its own tile.
func TestRoomPageAsksPublishersForDevices(t *testing.T) {
	t.Parallel()

	s := newScript(t)
	s.sessions["sess_1"] = aSession("sess_1")
	s.sessions["sess_1"]["waitingRoom"] = true
	origin := serve(t, s.handlers())
	tab := tabWithDevices(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, smallWidth, smallHeight, false)
	for _, c := range []struct {
		name, room, says string
		claims           message
		asked            bool
	}{
		{"guest", "sess_1", "You join as Ben Sato.", message{"sub": "u-17", "name": "Ben Sato", "role": "guest"}, true},
		{"viewer", "sess_1", "You join as Ben Sato, to watch and listen.", message{"sub": "u-17", "name": "Ben Sato", "role": "viewer"}, false},
		{"stream-viewer", "str_1", "You join as Ben Sato, to watch and listen.", message{"sub": "u-17", "name": "Ben Sato", "role": "viewer"}, false},
		{"stream-anonymous", "str_1", "You join as a guest, to watch and listen.", message{"sub": anonymous, "name": anonymous, "role": "viewer"}, false},
		{"stream-host", "str_1", "You join as Ada Okafor.", nil, true},
	} {
		browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room="+c.room+"&token="+ticketFor(t, c.room, "ada", c.claims)))
		browsertest.WaitFor(t, tab, `!document.getElementById("lobby").hidden`)
		require.Equal(t, c.says, browsertest.Value[string](t, tab, `document.getElementById("lobby-who").textContent`))
		require.Equal(t, !c.asked, browsertest.Value[bool](t, tab, `document.querySelector(".preview").hidden && document.getElementById("lobby-devices").hidden`))
		if c.asked {
			browsertest.WaitFor(t, tab, lobbyIsReady)
		}
		picture(t, tab, "room-lobby-"+c.name)
	}
	require.Empty(t, log.Complaints())
}

// TestRoomPageJoinsWithoutDevices checks that a user without camera and microphone gets a
// notice and can join.
func TestRoomPageJoinsWithoutDevices(t *testing.T) {
	t.Parallel()

	s := newScript(t)
	s.sessions["sess_1"] = aSession("sess_1")
	origin := serve(t, s.handlers())
	tab := browsertest.New(t)
	browsertest.Look(t, tab, smallWidth, smallHeight, false)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_1&token="+ticketFor(t, "sess_1", "ada")))
	browsertest.WaitFor(t, tab, says("microphone", "No microphone was found")+" && "+says("camera", "No camera was found"))
	require.True(t, browsertest.Value[bool](t, tab, fitsAcross))
	require.True(t, browsertest.Value[bool](t, tab, `document.getElementById("preview-face").getBoundingClientRect().bottom <
		document.getElementById("lobby-microphone").getBoundingClientRect().top`))
	picture(t, tab, "room-lobby-no-devices")
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
	s.next().send(welcome(someone("ada", "Ada Okafor", "host"), someone("ben", "Ben Sato", "guest")))
	browsertest.WaitFor(t, tab, roomIsOpen)
	browsertest.WaitFor(t, tab, `!document.querySelector(".tile[data-user=ada] .face").hidden`)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("[data-control=microphone]")))
	browsertest.WaitFor(t, tab, `document.querySelector(".notice")?.textContent.includes("microphone")`)
	picture(t, tab, "room-no-devices")
	require.True(t, browsertest.Value[bool](t, tab, tilesLieWell))
}

// anonymous is the id of a user without a name.
const anonymous = "guest_01m18qg1mhf2bsz1fk6m8v4jxe"

func TestRoomPageShowsTheEnd(t *testing.T) {
	t.Parallel()

	s := newScript(t)
	s.sessions["sess_1"] = aSession("sess_1")
	origin := serve(t, s.handlers())
	tab := tabWithDevices(t)
	browsertest.Look(t, tab, deskWidth, deskHeight, false)
	for code, says := range map[string]string{
		"session_full": "The room is full", "locked": "The room is locked", "ended": "The session has ended",
		"replaced": "You are in this room elsewhere", "token_expired": "This link has expired", "suspended": "The room is out of service",
	} {
		browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_1&token="+ticketFor(t, "sess_1", "ada")))
		browsertest.WaitFor(t, tab, lobbyIsReady)
		browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
		s.next().send(message{"type": "bye", "code": code, "message": "no", "retry": false})
		browsertest.WaitFor(t, tab, noticeShows(says))
		picture(t, tab, "room-"+code)
	}
}

func TestRoomPageReconnectsAfterALoss(t *testing.T) {
	t.Parallel()

	s := newScript(t)
	s.sessions["sess_1"] = aSession("sess_1")
	origin := serve(t, s.handlers())
	tab := tabWithDevices(t)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_1&token="+ticketFor(t, "sess_1", "ada")))
	browsertest.WaitFor(t, tab, lobbyIsReady)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
	self, ben := someone("ada", "Ada Okafor", "host"), someone("ben", "Ben Sato", "guest")
	c := s.next()
	require.Equal(t, "sess_1", c.query.Get("room"))
	require.Empty(t, c.query.Get("resume"))
	c.send(welcome(self))
	c.send(message{"type": "participant", "participant": ben})
	browsertest.WaitFor(t, tab, `document.querySelector('.tile[data-user=ben]')`)
	first := c.hear("offer")

	// Resumed: the missed messages come first, and the unanswered offer is sent again.
	c.cut()
	c = s.next()
	require.Equal(t, "secret", c.query.Get("resume"))
	require.Equal(t, "2", c.query.Get("after"))
	c.seq = 2
	c.send(message{"type": "left", "userId": "ben", "reason": "left"})
	back := welcome(self)
	back["resumed"] = true
	c.send(back)
	browsertest.WaitFor(t, tab, `!document.querySelector('.tile[data-user=ben]')`)
	require.Equal(t, first["id"], c.hear("offer")["id"])

	// Not resumed: all tracks are published again.
	c.cut()
	c = s.next()
	c.send(welcome(self))
	again := c.hear("offer")
	require.InDelta(t, 1, again["id"], 0)
	require.NotEqual(t, first["sdp"], again["sdp"])
	require.Len(t, again["tracks"], 2)

	// Moved: the page connects to the other node, without the state of the old connection.
	c.send(message{"type": "bye", "code": "moved", "message": "elsewhere", "retry": true, "sfuUrl": origin + "/sfu/"})
	c = s.next()
	require.Empty(t, c.query.Get("resume"))
	c.send(welcome(self))

	// After a reload the page joins by itself, with the same devices on.
	browsertest.Run(t, tab, chromedp.Reload())
	c = s.next()
	c.send(welcome(self))
	require.Len(t, c.hear("offer")["tracks"], 2)
	browsertest.WaitFor(t, tab, roomIsOpen)
}

// TestRoomPageTakesBackARefusedOffer checks that the page offers a device again when it is
// switched on after a refusal.
func TestRoomPageTakesBackARefusedOffer(t *testing.T) {
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
	refuse := func(offer message, code string) {
		c.send(message{"type": "error", "re": offer["id"], "code": code, "message": "no: " + code})
	}
	notice := func(code string) {
		browsertest.WaitFor(t, tab, `[...document.querySelectorAll(".notice")].some((n) => n.textContent.includes("`+code+`"))`)
	}

	first := c.hear("offer")
	refuse(first, "rate_limited")
	require.Equal(t, first, c.hear("offer"), "repeated as it was")

	// The server's state is unchanged: the connection stays.
	refuse(first, "forbidden")
	notice("forbidden")
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("[data-control=microphone]")))
	second := c.hear("offer")
	require.InDelta(t, 2, second["id"], 0)
	require.Len(t, second["tracks"], 1)

	// The server has closed the connection: the page opens another one.
	refuse(second, "bad_message")
	notice("bad_message")
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("[data-control=microphone]")))
	third := c.hear("offer")
	require.InDelta(t, 1, third["id"], 0)
	require.Len(t, third["tracks"], 1)
}

// TestRoomPageReloadsTheChatAfterALoss checks a loss that is too long for the channel's
// recovery: new messages are counted, and deleted or edited ones change.
func TestRoomPageReloadsTheChatAfterALoss(t *testing.T) {
	t.Parallel()

	s := newScript(t)
	s.sessions["sess_1"] = aSession("sess_1")
	one, two := written("msg_1", "ben", "Hello"), written("msg_2", "ben", "Rude")
	s.says(one, two)
	origin := serve(t, s.handlers())
	tab := tabWithDevices(t)
	browsertest.Look(t, tab, deskWidth, deskHeight, false)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_1&token="+ticketFor(t, "sess_1", "ada")))
	browsertest.WaitFor(t, tab, lobbyIsReady)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
	s.next().send(welcome(someone("ada", "Ada Okafor", "guest")))
	browsertest.WaitFor(t, tab, roomIsOpen)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("[data-control=chat]")))
	shown := `[...document.querySelectorAll(".messages .body")].map((b) => b.textContent).join()`
	browsertest.WaitFor(t, tab, shown+` === "Hello,Rude"`)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("[data-control=chat]")))
	require.Zero(t, browsertest.Value[int](t, tab, `document.querySelectorAll("[data-control=chat] .badge").length`))

	edited, deleted := maps.Clone(one), maps.Clone(two)
	edited["body"], edited["editedAt"] = "Hello all", one["createdAt"]
	deleted["body"], deleted["redacted"] = nil, true
	s.says(edited, deleted, written("msg_3", "ben", "Missed"), written("msg_4", "ada", "My own, elsewhere"))
	require.NoError(t, (<-s.hears).CloseNow())
	browsertest.WaitFor(t, tab, `document.querySelector("[data-control=chat] .badge")?.textContent === "1"`)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("[data-control=chat]")))
	browsertest.WaitFor(t, tab, shown+` === "Hello all,Deleted,Missed,My own, elsewhere"`)
	picture(t, tab, "room-chat-anew")
}

// written returns a message in the chat.
func written(id, author, body string) message {
	return message{
		"id": id, "channelId": "sess_1", "authorId": author, "authorName": "Ben Sato", "body": body, "mentions": []string{},
		"createdAt": "2026-11-22T06:00:00.000Z", "editedAt": nil, "redacted": false, "redactedBy": nil,
	}
}

func TestRoomsLibraryCalculates(t *testing.T) {
	t.Parallel()

	origin := serve(t, nil)
	tab := browsertest.New(t)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/"),
		chromedp.Evaluate[chromedp.Void](`import("/assets/rooms.js").then((m) => (globalThis.lib = m)); undefined`))
	browsertest.WaitFor(t, tab, `globalThis.lib !== undefined`)
	for expression, want := range map[string]string{
		`lib.cameraLayers(720).map((l) => l.rid).join()`: "q,h,f",
		`lib.cameraLayers(480).map((l) => l.rid).join()`: "h,f",
		`lib.cameraLayers(200).map((l) => l.rid).join()`: "f",
		`lib.preferred([{mimeType:"video/VP8"},{mimeType:"video/rtx"},{mimeType:"video/H264"}], "h264").map((c) => c.mimeType).join()`:                                                                                                        "video/H264,video/VP8,video/rtx",
		`lib.preferred([{mimeType:"audio/opus"},{mimeType:"audio/red"},{mimeType:"audio/PCMU"}], "red").map((c) => c.mimeType).join()`:                                                                                                        "audio/red,audio/opus,audio/PCMU",
		`lib.preferred([{mimeType:"audio/opus"}], "red").map((c) => c.mimeType).join()`:                                                                                                                                                       "audio/opus",
		`lib.withQuietOpus("a=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;useinbandfec=0\r\n")`:                                                                                                                                         "a=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;usedtx=1;useinbandfec=1\r\n",
		`lib.withQuietOpus("a=rtpmap:111 opus/48000/2\r\na=mid:0\r\n")`:                                                                                                                                                                       "a=rtpmap:111 opus/48000/2\r\na=fmtp:111 usedtx=1;useinbandfec=1\r\na=mid:0\r\n",
		`lib.withQuietOpus("a=rtpmap:96 VP8/90000\r\n")`:                                                                                                                                                                                      "a=rtpmap:96 VP8/90000\r\n",
		`(() => { const b = new lib.Backoff(100, 1000, () => 0); return Array.from({ length: 5 }, () => b.next()).join(); })()`:                                                                                                               "100,200,400,800,1000",
		`(() => { const b = new lib.Backoff(100, 1000, () => 1); b.next(); b.reset(); return [b.attempts, b.next()].join(); })()`:                                                                                                             "0,50",
		`JSON.stringify(lib.readTicket("` + ticketFor(t, "sess_1", "zoë") + `"), ["room", "userId"])`:                                                                                                                                         `{"room":"sess_1","userId":"zoë"}`,
		`(() => { const a = new lib.PlaybackAddress("/live/1/index.m3u8"); a.renew("/live/2/index.m3u8"); a.renew("/live/3/index.m3u8"); return [a.url, ...["/live/1/x?y", "/live/2/x", "/live/3/x", "/z"].map((u) => a.of(u))].join(); })()`: "/live/3/index.m3u8,/live/3/x?y,/live/3/x,/live/3/x,/z",
		`(() => { const t = (source, id, muted) => ({ source, id, muted }), of = (...a) => lib.mutesToRepeat(...a).map((m) => m.id + m.muted).join();
			return [
				of([t("microphone", "m", true), t("screen-audio", "s", false)], true),
				of([t("screen-audio", "s", false)], true),
				of([t("microphone", undefined, false), t("screen-audio", "s", false)], true),
				of([t("screen-audio", "s", true)], true),
				of([t("microphone", "m", false), t("camera", "c", true), t("screen", undefined, true)], true),
			].join(" "); })()`: "sfalse   strue mfalse,ctrue",
		`(() => { const totals = (received, lost, frozenSec = 0, roundTripSec = 0.05) => ({ received, lost, frozenSec, roundTripSec });
			return [totals(200, 0), totals(200, 20), totals(200, 5), totals(200, 0, 1), totals(200, 0, 0, 0.5), totals(105, 0), totals(50, 0), totals(300, -5)]
				.map((now) => lib.qualityOf(totals(100, 0), now, 4)).join(); })()`: "good,poor,good,poor,poor,,,good",
		`String(lib.readTicket("not.a.token"))`:                                   "undefined",
		`new lib.Room({ url: "wss://sfu.example", token: "t", room: "r" }).state`: "new",
	} {
		require.Equal(t, want, browsertest.Value[string](t, tab, expression), expression)
	}
}

// TestRoomPagePlaysAStreamByHLS checks that the page plays the stream by HLS, with sound,
// while its room can't show it, and then returns to the room's tracks.
func TestRoomPagePlaysAStreamByHLS(t *testing.T) {
	t.Parallel()

	s := newScript(t)
	handlers := s.handlers()
	asked := make(chan string, 64)
	handlers["/live/"] = func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		http.NotFound(w, r)
	}
	origin := serve(t, handlers)
	tab := browsertest.New(t)
	viewer := message{"sub": "ben", "name": "Ben Sato", "role": "viewer"}
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=str_1&token="+ticketFor(t, "str_1", "ben", viewer)))
	browsertest.WaitFor(t, tab, `!document.getElementById("lobby").hidden`)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
	c := s.next()
	in := welcome(someone("ben", "Ben Sato", "viewer"))
	in["room"], in["kind"] = "str_1", "stream"
	c.send(in)
	browsertest.WaitFor(t, tab, roomIsOpen)
	const tiles = `document.querySelectorAll(".tile[data-source=stream-video]").length`
	require.Equal(t, 0, browsertest.Value[int](t, tab, tiles))
	for _, name := range []string{"one", "two"} {
		path := "/live/" + name + "/index.m3u8"
		c.send(message{"type": "fallback", "fallback": message{"code": "b_frames", "message": "B-frames", "url": origin + path}})
		for got := ""; got != path; {
			select {
			case got = <-asked:
			case <-time.After(20 * time.Second):
				t.Fatal("the page asked for no playlist " + path)
			}
		}
	}
	require.Equal(t, 1, browsertest.Value[int](t, tab, tiles))
	c.send(message{"type": "fallback", "fallback": nil})
	browsertest.WaitFor(t, tab, tiles+` === 0`)
}
