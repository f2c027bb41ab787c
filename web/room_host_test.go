package web_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/flowtest"
)

// hosting is a room in which ada is the host.
type hosting struct {
	s     *script
	c     *connection
	tab   context.Context //nolint:containedctx // chromedp's handle of the tab
	calls chan string
}

// host opens the room page as the host and joins. query extends the page's URL; routes are more handlers by pattern.
func host(t *testing.T, query string, routes map[string]http.HandlerFunc, others ...message) *hosting {
	t.Helper()
	h := &hosting{s: newScript(t), tab: tabWithDevices(t), calls: make(chan string, 16)}
	h.s.sessions["sess_1"] = aSession("sess_1")
	handlers := h.s.handlers()
	for _, pattern := range []string{
		"POST /v1/me/sessions/sess_1/participants/{user}/admit", "DELETE /v1/me/sessions/sess_1/participants/{user}",
		"POST /v1/me/sessions/sess_1/moderate/mute",
	} {
		handlers[pattern] = h.record
	}
	maps.Copy(handlers, routes)
	origin := serve(t, handlers)
	wide(t, h.tab)
	browsertest.Run(t, h.tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_1"+query+"&token="+ticketFor(t, "sess_1", "ada")))
	browsertest.WaitFor(t, h.tab, lobbyIsReady)
	browsertest.Run(t, h.tab, chromedp.Click(chromedp.CSS("#join-button")))
	h.c = h.s.next()
	h.c.send(welcome(someone("ada", "Ada Okafor", "host"), others...))
	browsertest.WaitFor(t, h.tab, roomIsOpen)
	return h
}

// record stores a request of the page.
func (h *hosting) record(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.calls <- r.Method + " " + r.URL.Path[len("/v1/me/sessions/sess_1"):] + string(body)
	answer(w, message{})
}

// called returns the page's next recorded request.
func (h *hosting) called(t *testing.T) string {
	t.Helper()
	select {
	case call := <-h.calls:
		return call
	case <-time.After(20 * time.Second):
		t.Fatal("the page sent no request")
		return ""
	}
}

// clicks presses the visible button with this text.
func (h *hosting) clicks(t *testing.T, text string) {
	t.Helper()
	quoted, err := json.Marshal(text)
	require.NoError(t, err)
	browsertest.WaitFor(t, h.tab, `(() => {
		const button = [...document.querySelectorAll("button")].find((b) => b.checkVisibility() && b.textContent.trim() === `+string(quoted)+`);
		button?.click();
		return button !== undefined;
	})()`)
}

// answers clicks a button of the notice with this text.
func (h *hosting) answers(t *testing.T, notice, button string) {
	t.Helper()
	browsertest.WaitFor(t, h.tab, `(() => {
		const notice = [...document.querySelectorAll(".notice")].find((n) => n.textContent.includes("`+notice+`"));
		const button = [...(notice?.querySelectorAll("button") ?? [])].find((b) => (b.ariaLabel ?? b.textContent) === "`+button+`");
		button?.click();
		return button !== undefined;
	})()`)
}

// opens makes breakout rooms: the realtime channel announces them, and the session lists them.
func (h *hosting) opens(t *testing.T, breakouts ...message) {
	t.Helper()
	session := aSession("sess_1")
	session["breakouts"] = breakouts
	h.s.sets("sess_1", session)
	h.publishes(t, "session.breakouts.created", message{"breakouts": breakouts})
}

// publishes sends a publication on the realtime channel.
func (h *hosting) publishes(t *testing.T, kind string, data message) {
	t.Helper()
	select {
	case socket := <-h.s.hears:
		h.s.hears <- socket
		require.NoError(t, wsjson.Write(t.Context(), socket, message{"push": message{
			"channel": "room:sess_1", "pub": message{"data": message{"type": kind, "data": data}},
		}}))
	case <-time.After(20 * time.Second):
		t.Fatal("the page has not subscribed")
	}
}

func knocker(id, name string) message {
	p := someone(id, name, "guest")
	p["state"] = "waiting"
	return message{"type": "participant", "participant": p}
}

func breakout(id, name string, users ...string) message {
	return message{"id": id, "name": "Weekly planning – " + name, "userIds": append([]string{}, users...), "closesAt": nil}
}

func noticeSays(text string) string {
	return `[...document.querySelectorAll(".notice")].some((n) => n.textContent.includes("` + text + `"))`
}

func TestRoomPageAnnouncesKnocks(t *testing.T) {
	t.Parallel()
	h := host(t, "", nil, someone("ben", "Ben Sato", "cohost"))
	flowtest.Step(t, "one", func(t *testing.T) {
		h.c.send(knocker("fay", "Fay Wong"))
		browsertest.WaitFor(t, h.tab, noticeSays("Fay Wong is in the waiting room."))
		both(t, h.tab, "room-knock")
		h.clicks(t, "Admit")
		require.Equal(t, "POST /participants/fay/admit", h.called(t))
		h.c.send(message{"type": "participant", "participant": someone("fay", "Fay Wong", "guest")})
		browsertest.WaitFor(t, h.tab, `document.querySelectorAll(".notice").length === 0`)
	})
	flowtest.Step(t, "denied", func(t *testing.T) {
		h.c.send(knocker("gus", "Gus"))
		browsertest.WaitFor(t, h.tab, noticeSays("Gus is in the waiting room."))
		h.clicks(t, "Deny")
		browsertest.WaitFor(t, h.tab, `document.querySelector("dialog")?.textContent.includes("Deny admission to Gus?")`)
		both(t, h.tab, "room-deny")
		browsertest.Run(t, h.tab, chromedp.Click(chromedp.CSS("dialog .danger")))
		require.Equal(t, "DELETE /participants/gus", h.called(t))
		h.c.send(message{"type": "left", "userId": "gus", "reason": "kicked"})
	})
	flowtest.Step(t, "several share a notice", func(t *testing.T) {
		for _, p := range []string{"Hal", "Ivy", "Jan"} {
			h.c.send(knocker(p, p))
		}
		browsertest.WaitFor(t, h.tab, noticeSays("Hal and 2 others are in the waiting room."))
		both(t, h.tab, "room-knocks")
		h.answers(t, "in the waiting room", "Dismiss")
		browsertest.WaitFor(t, h.tab, `!`+noticeSays("in the waiting room"))
		h.c.send(knocker("Kim", "Kim"))
		browsertest.WaitFor(t, h.tab, noticeSays("Hal and 3 others are in the waiting room."))
		h.clicks(t, "Show them")
		browsertest.WaitFor(t, h.tab, `document.querySelectorAll(".people-panel .group:first-of-type li").length === 4`)
		require.False(t, browsertest.Value[bool](t, h.tab, noticeSays("in the waiting room")), "the list shows them")
		browsertest.Run(t, h.tab, chromedp.Click(chromedp.CSS("[data-control=people]")))
		h.c.send(knocker("Lea", "Lea"))
		browsertest.WaitFor(t, h.tab, noticeSays("Hal and 4 others are in the waiting room."))
		h.answers(t, "in the waiting room", "Admit all")
		var admitted []string
		for range 5 {
			admitted = append(admitted, strings.TrimPrefix(h.called(t), "POST /participants/"))
		}
		require.ElementsMatch(t, []string{"Hal/admit", "Ivy/admit", "Jan/admit", "Kim/admit", "Lea/admit"}, admitted)
	})
}

func TestRoomPageMutesOneParticipant(t *testing.T) {
	t.Parallel()
	h := host(t, "", nil, someone("ben", "Ben Sato", "guest"), someone("cleo", "Cleo Martin", "guest"))
	track := message{"id": "t1", "userId": "ben", "source": "microphone", "kind": "audio", "muted": false, "layers": []message{}}
	h.c.send(message{"type": "track", "track": track})
	browsertest.Run(t, h.tab, chromedp.Click(chromedp.CSS("[data-control=people]")))
	const mute = `document.querySelectorAll(".people-panel [aria-label^='Mute ']").length`
	browsertest.WaitFor(t, h.tab, mute+` === 1`)
	both(t, h.tab, "room-mute-one")
	browsertest.Run(t, h.tab, chromedp.Click(chromedp.CSS(`[aria-label="Mute Ben Sato"]`)))
	require.Equal(t, `POST /moderate/mute{"userId":"ben"}`, h.called(t))
	browsertest.WaitFor(t, h.tab, noticeSays("Ben Sato is muted."))
	muted := someone("ben", "Ben Sato", "guest")
	muted["muted"] = true
	h.c.send(message{"type": "participant", "participant": muted})
	browsertest.WaitFor(t, h.tab, mute+` === 0`)

	// A guest can't mute others.
	h.c.send(message{"type": "participant", "participant": someone("ben", "Ben Sato", "guest")})
	browsertest.WaitFor(t, h.tab, mute+` === 1`)
	h.c.send(message{"type": "participant", "participant": someone("ada", "Ada Okafor", "guest")})
	browsertest.WaitFor(t, h.tab, mute+` === 0`)
}

func TestRoomPageShowsWhoIsInBreakoutRooms(t *testing.T) {
	t.Parallel()
	people := []message{{"userId": "ada", "displayName": "Ada Okafor"}, {"userId": "u-17", "displayName": "Ben Sato"}, {"userId": "cleo", "displayName": nil}}
	h := host(t, "", map[string]http.HandlerFunc{
		"GET /v1/me/sessions/sess_1/participants": func(w http.ResponseWriter, _ *http.Request) { answer(w, people) },
	})
	browsertest.WaitFor(t, h.tab, `/here yet/.test(document.getElementById("alone").textContent)`)
	limited := breakout("sess_3", "Room 2")
	limited["closesAt"] = "2026-11-24T13:05:00.000Z"
	h.opens(t, breakout("sess_2", "Room 1", "u-17", "cleo"), limited)
	browsertest.WaitFor(t, h.tab, `document.getElementById("alone").textContent === "Everyone else is in a breakout room"`)
	browsertest.Run(t, h.tab, chromedp.Click(chromedp.CSS("[data-control=people]")))
	h.clicks(t, "Breakout rooms")
	const names = `[...document.querySelectorAll("dialog small")].map((s) => s.textContent).join("|")`
	browsertest.WaitFor(t, h.tab, names+`.startsWith("Ben Sato, cleo|No participant is assigned|Closes at ") && /:05/.test(`+names+`)`)
	both(t, h.tab, "room-breakouts-open")
}

// TestRoomPageCountsDownToABreakoutRoom checks that the countdown changes in place: the buttons keep the focus, and
// screen readers don't read each second.
func TestRoomPageCountsDownToABreakoutRoom(t *testing.T) {
	t.Parallel()
	h := host(t, "", nil, someone("ben", "Ben Sato", "cohost"))
	h.opens(t, breakout("sess_2", "Room 1", "ada"))
	browsertest.WaitFor(t, h.tab, noticeSays("You are going to Room 1 in 10 s"))
	does(t, h.tab, `[...document.querySelectorAll(".notice button")].find((b) => b.textContent === "Stay here").focus()`)
	browsertest.WaitFor(t, h.tab, noticeSays("in 8 s")+` && document.activeElement.textContent === "Stay here"`)
	require.Equal(t, "off", browsertest.Value[string](t, h.tab, `document.querySelector(".notice [role=timer]").ariaLive`))
	h.clicks(t, "Stay here")
	browsertest.WaitFor(t, h.tab, noticeSays("Room 1 is open for you."))
	both(t, h.tab, "room-breakout-offer")
}

// TestRoomPageShowsHowLongABreakoutRoomStaysOpen: each second, and with a notice for the last minute.
func TestRoomPageShowsHowLongABreakoutRoomStaysOpen(t *testing.T) {
	t.Parallel()
	s, tab := newScript(t), tabWithDevices(t)
	session := aSession("sess_1")
	session["parentSessionId"], session["closesAt"] = "sess_0", time.Now().Add(75*time.Second).UTC().Format(time.RFC3339)
	s.sessions["sess_1"] = session
	origin := serve(t, s.handlers())
	wide(t, tab)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_1&token="+ticketFor(t, "sess_1", "ben")))
	browsertest.WaitFor(t, tab, lobbyIsReady)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
	joined := welcome(someone("ben", "Ben Sato", "guest"), someone("ada", "Ada Okafor", "host"))
	joined["session"] = message{"layout": "grid", "parentSessionId": "sess_0"}
	s.next().send(joined)
	const left = `document.getElementById("time-left")`
	browsertest.WaitFor(t, tab, left+`.checkVisibility() && /^1:[01]\d left$/.test(`+left+`.textContent)`)
	require.False(t, browsertest.Value[bool](t, tab, noticeSays("less than a minute")))
	require.Equal(t, "off", browsertest.Value[string](t, tab, left+`.ariaLive`))
	browsertest.WaitFor(t, tab, `/^0:5\d left$/.test(`+left+`.textContent) && `+left+`.classList.contains("soon")`)
	browsertest.WaitFor(t, tab, noticeSays("This breakout room closes in less than a minute."))
	both(t, tab, "room-breakout-time-left")
}
