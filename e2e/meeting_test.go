package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/browsertest"
	"showfloor/internal/media/sfu/sfutest"
)

// person is somebody with a browser of their own on the room page.
type person struct {
	t   testing.TB
	tab context.Context
	log *browsertest.Log
	id  string
}

// watchRoom makes the page note what it receives of whom, by user and source:
// frames decoded so far, the loudest level since it was set to 0, the share of sound
// that came again in vain, as it does with RED (statistics name the codec inside of it),
// and who left.
const watchRoom = `(() => {
	const page = (globalThis.watched = { seen: {}, left: [] });
	globalThis.room = () => showfloorRoom.meeting?.room;
	let listens;
	setInterval(async () => {
		const now = room();
		if (!now) return;
		if (listens !== now) now.on('left', ({ userId, reason }) => reason !== 'replaced' && page.left.push(userId));
		listens = now;
		const { subscribe } = await now.stats();
		subscribe?.forEach((s) => {
			if (s.type !== 'inbound-rtp') return;
			const track = [...now.tracks.values()].find((t) => now.mediaOf(t.id)?.id === s.trackIdentifier);
			if (!track) return;
			const seen = (page.seen[track.userId + '/' + track.source] ??= { loudest: 0, frames: 0 });
			// Over all tracks of this source: a reload begins a new one.
			seen.frames += (s.framesDecoded ?? 0) - (seen.track === track.id ? seen.last : 0);
			Object.assign(seen, { track: track.id, last: s.framesDecoded ?? 0 });
			seen.loudest = Math.max(seen.loudest, s.audioLevel ?? 0);
			seen.again = s.packetsReceived > 100 ? s.packetsDiscarded / s.packetsReceived : 0;
		});
	}, 100);
})(); undefined`

// paintedScreen is what the page may share: browsers without a head have no screen.
const paintedScreen = `navigator.mediaDevices.getDisplayMedia = async () => {
	const canvas = Object.assign(document.createElement("canvas"), { width: 1280, height: 720 });
	const paint = canvas.getContext("2d");
	setInterval(() => {
		paint.fillStyle = "hsl(" + ((Date.now() / 20) % 360) + " 60% 40%)";
		paint.fillRect(0, 0, 1280, 720);
		paint.fillStyle = "#fff";
		paint.font = "96px sans-serif";
		paint.fillText("A shared screen", 300, 380);
	}, 100);
	return canvas.captureStream(10);
}; undefined`

// openSession makes a session whose host is ada.
func openSession(a *tenant, in api.SessionInput) api.Session {
	a.t.Helper()
	in.Name, in.HostID = "Weekly planning", "ada"
	return created(a.CreateSessionWithResponse(a.t.Context(), in))(a.t)
}

// invite opens a browser for somebody, before the door.
func invite(a *tenant, s *server, session api.Session, id, name string) *person {
	a.t.Helper()
	token := created(a.CreateSessionTokenWithResponse(a.t.Context(), session.ID, api.SessionTokenInput{UserID: id, DisplayName: &name}))(a.t)
	return open(a.t, s, session.ID, id, token.Token)
}

// open opens a browser on the room page; more is added to its address.
func open(t testing.TB, s *server, room, id, token string, more ...string) *person {
	t.Helper()
	p := &person{t: t, id: id}
	p.tab = browsertest.New(t, browsertest.Devices)
	p.log = browsertest.Watch(t, p.tab)
	browsertest.Look(t, p.tab, 1280, 800, false)
	p.run(chromedp.Navigate(s.url + "/scenarios/conference/?room=" + room + "&token=" + token + strings.Join(more, "")))
	return p
}

func (p *person) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	browsertest.Run(p.t, p.tab, actions...)
}

func (p *person) waits(expression string) {
	p.t.Helper()
	browsertest.WaitFor(p.t, p.tab, expression)
}

func (p *person) clicks(selector string) {
	p.t.Helper()
	p.run(chromedp.Click(chromedp.CSS(selector)))
}

// chooses clicks a button by what stands on it.
func (p *person) chooses(text string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`(() => {
		const button = [...document.querySelectorAll("button")].find((b) => b.checkVisibility() && b.textContent.trim() === %q);
		button?.click();
		return button !== undefined;
	})()`, text))
}

// opens the menu of somebody in the list of people, and chooses from it.
func (p *person) does(userID, what string) {
	p.t.Helper()
	p.shows("people")
	p.clicks(`.group:last-of-type li[data-user=` + userID + `] button`)
	p.chooses(what)
}

// shows opens a panel.
func (p *person) shows(panel string) {
	p.t.Helper()
	if !browsertest.Value[bool](p.t, p.tab, `document.querySelector("[data-control=`+panel+`]").ariaPressed === "true"`) {
		p.clicks(`[data-control=` + panel + `]`)
	}
	p.waits(`document.querySelector("#panel .` + panel + `-panel") !== null`)
}

const inRoom = `!document.getElementById("room").hidden && room()?.state === "joined"`

// joins goes through the door.
func (p *person) joins() {
	p.t.Helper()
	p.waits(`!document.getElementById("lobby").hidden && (document.querySelector(".preview").hidden || document.getElementById("preview").videoWidth > 0)`)
	p.run(chromedp.Evaluate[chromedp.Void](watchRoom))
	p.clicks("#join-button")
}

func (p *person) isIn() {
	p.t.Helper()
	p.waits(inRoom)
}

// comesBack reloads the page, which goes straight back in.
func (p *person) comesBack() {
	p.t.Helper()
	p.run(chromedp.Reload())
	p.run(chromedp.Evaluate[chromedp.Void](watchRoom))
	p.isIn()
}

// sees waits until another's picture has moved on and is on the page.
func (p *person) sees(other *person) {
	p.t.Helper()
	frames := fmt.Sprintf(`watched.seen["%s/camera"]?.frames`, other.id)
	p.waits(frames + ` > 0`)
	from := browsertest.Value[int](p.t, p.tab, frames)
	p.waits(fmt.Sprintf(`%s > %d`, frames, from+10))
	p.waits(fmt.Sprintf(`(() => {
		const video = document.querySelector('.tile[data-user=%s] video');
		return video !== null && !video.hidden && video.videoWidth > 0 && video.currentTime > 0;
	})()`, other.id))
}

// hears waits until another is louder than silence.
func (p *person) hears(other *person) {
	p.t.Helper()
	p.quiet(other)
	p.waits(fmt.Sprintf(`watched.seen["%s/microphone"].loudest > 0.01`, other.id))
}

// quiet begins to listen anew.
func (p *person) quiet(other *person) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`(() => {
		const seen = watched.seen["%s/microphone"];
		if (seen) seen.loudest = 0;
		return seen !== undefined;
	})()`, other.id))
}

// hearsNothing of another while their picture goes on for two seconds; the
// microphone of a test's browser beeps each second. On a busy machine a browser
// plays late what it was sent before.
func (p *person) hearsNothing(other *person) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`[...room().tracks.values()].some((t) => t.userId === "%s" && t.source === "microphone" && t.muted)`, other.id))
	until(p.t, "nothing is heard any more", func() bool {
		p.quiet(other)
		for range 4 {
			p.sees(other)
		}
		return browsertest.Value[float64](p.t, p.tab, fmt.Sprintf(`watched.seen["%s/microphone"].loudest`, other.id)) < 0.001
	})
}

// told waits for the screen that says so.
func (p *person) told(title string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`!document.getElementById("door").hidden && document.getElementById("door-title").textContent === %q`, title))
}

// noticed waits for a notice above the stage.
func (p *person) noticed(text string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`document.getElementById("notices").textContent.includes(%q)`, text))
}

// isQuiet wants no complaint in the page's log.
func (p *person) isQuiet() {
	p.t.Helper()
	require.Empty(p.t, p.log.Complaints())
}

// standing is how a user is in a session, as the API says.
func standing(a *tenant, session, user string) api.Participant {
	a.t.Helper()
	answer, err := a.ListSessionParticipantsWithResponse(a.t.Context(), session, nil)
	require.NoError(a.t, err)
	require.Equal(a.t, http.StatusOK, answer.StatusCode(), "%s", answer.Body)
	for _, p := range *answer.JSON200 {
		if p.UserID == user {
			return p
		}
	}
	a.t.Fatalf("%s is no participant of %s", user, session)
	return api.Participant{}
}

// bringTwo brings two into a session, of which the first is the host.
func bringTwo(a *tenant, s *server, session api.Session) (ada, ben *person) {
	a.t.Helper()
	ada = invite(a, s, session, "ada", "Ada Okafor")
	ada.joins()
	ada.isIn()
	ben = invite(a, s, session, "ben", "Ben Sato")
	ben.joins()
	ben.isIn()
	return ada, ben
}

func TestTwoMeetInARoom(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	session := openSession(a, api.SessionInput{Type: api.SessionInputTypeConference})
	ada, ben := bringTwo(a, s, session)
	ada.sees(ben)
	ben.sees(ada)
	ada.hears(ben)
	ben.hears(ada)
	ada.waits(`watched.seen["ben/microphone"].again > 0.5`)
	ben.waits(`watched.seen["ada/microphone"].again > 0.5`)
	browsertest.Screenshot(t, ada.tab, "meeting-two")

	// Chat, both ways, and counted while it is closed.
	ben.shows("chat")
	ben.run(chromedp.SendKeys(chromedp.CSS(".write textarea"), "Hello Ada\r"))
	ada.waits(`document.querySelector("[data-control=chat] .badge")?.textContent === "1"`)
	ada.shows("chat")
	ada.waits(`document.querySelector(".messages")?.textContent.includes("Hello Ada")`)
	ada.run(chromedp.SendKeys(chromedp.CSS(".write textarea"), "Hello Ben\r"))
	ben.waits(`document.querySelector(".messages")?.textContent.includes("Hello Ben")`)
	ben.clicks("[data-control=heart]")
	ada.waits(`document.querySelectorAll("#hearts .icon").length > 0`)
	browsertest.Screenshot(t, ada.tab, "meeting-chat")

	// Whoever mutes isn't heard, by their own hand or the host's.
	ben.run(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur(); undefined`), chromedp.KeyEvent("m"))
	ada.hearsNothing(ben)
	ben.clicks("[data-control=microphone]")
	ada.hears(ben)
	ada.shows("people")
	ada.chooses("Mute all")
	ben.noticed("A host muted you.")
	ada.hearsNothing(ben)
	ben.chooses("Unmute")
	ada.hears(ben)

	// A camera goes off and on.
	ben.clicks("[data-control=camera]")
	ada.waits(`!document.querySelector(".tile[data-user=ben] .face").hidden`)
	ben.clicks("[data-control=camera]")
	ada.sees(ben)

	// A screen is large for the others as long as it is shared.
	ada.run(chromedp.Evaluate[chromedp.Void](paintedScreen))
	ada.clicks("[data-control=screen]")
	ben.waits(`document.querySelector(".tile[data-source=screen].main video")?.videoWidth === 1280`)
	browsertest.Screenshot(t, ben.tab, "meeting-screen")
	ada.clicks("[data-control=screen]")
	ben.waits(`!document.querySelector(".tile[data-source=screen]")`)

	// A reload goes straight back in; nobody has left.
	joined := standing(a, session.ID, "ben").JoinedAt
	ben.comesBack()
	ben.sees(ada)
	ada.sees(ben)
	ada.hears(ben)
	require.Empty(t, browsertest.Value[[]string](t, ada.tab, `watched.left`))
	require.Equal(t, joined, standing(a, session.ID, "ben").JoinedAt)

	// Removed is removed.
	ada.does("ben", "Remove from the room")
	ada.chooses("Remove")
	ben.told("You were removed")
	ada.waits(`!document.querySelector(".tile[data-user=ben]")`)
	ada.isQuiet()
	ben.isQuiet()
	ben.run(chromedp.Reload())
	ben.told("You were removed")
	browsertest.Screenshot(t, ben.tab, "meeting-removed")

	ada.clicks("[data-control=leave]")
	ada.chooses("End for everybody")
	ada.chooses("End it")
	ada.told("The session has ended")
	ada.isQuiet()
}

// through leads a page's media to the server through a relay, over UDP alone.
func (p *person) through(r *sfutest.Relay) {
	p.t.Helper()
	p.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
		const set = RTCPeerConnection.prototype.setRemoteDescription;
		RTCPeerConnection.prototype.setRemoteDescription = function ({ type, sdp }) {
			sdp = sdp.replace(/a=candidate:\S+ \d+ tcp .*\r\n/g, "").replace(/(a=candidate:\S+ \d+ udp \d+ )\S+ \d+( typ host)/g, "$1127.0.0.1 %d$2");
			return set.call(this, { type, sdp });
		};
	})(); undefined`, r.Port())))
}

// TestBrowsersMeetOverABadNetwork: of what goes through the relay, from each and to
// each, a share is lost; pictures go on, and sound stays.
func TestBrowsersMeetOverABadNetwork(t *testing.T) {
	t.Parallel()
	for name, loss := range map[string]float64{"5 in 100 are lost": 0.05, "20 in 100 are lost": 0.2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := freeAddr(t)
			s := serve(t, onTestDatabase, set("SFU_ADDR", addr))
			a := signUp(t, s)
			session := openSession(a, api.SessionInput{Type: api.SessionInputTypeConference})
			relay := sfutest.NewRelay(t, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(addr)), 1)
			var people []*person
			for _, id := range []string{"ada", "ben"} {
				p := invite(a, s, session, id, strings.ToUpper(id))
				p.through(relay)
				p.joins()
				p.isIn()
				people = append(people, p)
			}
			meet := func() {
				for i, p := range people {
					p.sees(people[1-i])
					p.hears(people[1-i])
				}
			}
			meet()
			relay.Set(sfutest.Weather{Loss: loss})
			carried, lost := relay.Counts()
			for range 2 {
				meet()
			}
			after, gone := relay.Counts()
			t.Logf("%d of %d packets were lost", gone-lost, after-carried)
			require.Greater(t, gone-lost, 100, "it is this network that they met over")
			relay.Set(sfutest.Weather{})
			meet()
		})
	}
}

func TestViewersAreBroughtOnStage(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	session := openSession(a, api.SessionInput{Type: api.SessionInputTypeWebinar})
	ada, ben := bringTwo(a, s, session)
	ben.sees(ada)
	require.True(t, browsertest.Value[bool](t, ben.tab, `document.querySelector("[data-control=microphone]").parentElement.hidden`))
	browsertest.Look(t, ben.tab, 360, 740, true)
	require.True(t, browsertest.Value[bool](t, ben.tab, `document.documentElement.scrollWidth <= innerWidth`))
	browsertest.Screenshot(t, ben.tab, "meeting-viewer-phone")

	ben.clicks("[data-control=hand]")
	ada.waits(`document.querySelector("[data-control=people] .badge")?.textContent === "1"`)
	ada.shows("people")
	ada.chooses("Bring on stage")
	ben.noticed("You are on stage")
	ben.chooses("Microphone and camera")
	ada.sees(ben)
	ada.hears(ben)
	ada.waits(`document.querySelector("[data-control=people] .badge") === null`) // the hand went down by itself
	browsertest.Screenshot(t, ada.tab, "meeting-stage")
	browsertest.Screenshot(t, ben.tab, "meeting-stage-phone")
	require.True(t, browsertest.Value[bool](t, ben.tab, `document.getElementById("controls").scrollWidth <= innerWidth`))

	ada.does("ben", "Move to the audience")
	ben.noticed("You are in the audience now.")
	ada.waits(`!document.querySelector(".tile[data-user=ben]")`)
	require.Zero(t, browsertest.Value[int](t, ben.tab, `room().local.size`))
	ada.isQuiet()
	ben.isQuiet()
}

func TestTheHostHoldsTheDoor(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	waitingRoom := true
	session := openSession(a, api.SessionInput{Type: api.SessionInputTypeConference, WaitingRoom: &waitingRoom})
	ada := invite(a, s, session, "ada", "Ada Okafor")
	ada.joins()
	ada.isIn()
	ben := invite(a, s, session, "ben", "Ben Sato")
	cleo := invite(a, s, session, "cleo", "Cleo Martin")
	ben.joins()
	ben.told("You are in the waiting room")
	ada.waits(`document.querySelector("[data-control=people] .badge")?.textContent === "1"`)
	ada.shows("people")
	ada.chooses("Admit")
	ben.isIn()
	ada.sees(ben)
	ben.sees(ada)

	// Locked, nobody new comes in; whoever is inside may come back.
	ada.clicks(".host-tools label:first-child input")
	until(t, "the room is locked", func() bool {
		answer, err := a.GetSessionWithResponse(t.Context(), session.ID)
		return err == nil && answer.JSON200 != nil && answer.JSON200.Locked
	})
	cleo.joins()
	cleo.told("The room is locked")
	ben.comesBack()
	ada.isQuiet()
	ben.isQuiet()
	cleo.isQuiet()
}

func TestBreakoutRoomsMovePeople(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	session := openSession(a, api.SessionInput{Type: api.SessionInputTypeConference})
	ada, ben := bringTwo(a, s, session)
	ada.sees(ben)

	ada.shows("people")
	ada.chooses("Breakout rooms")
	ada.chooses("Open the rooms")
	ben.noticed("You are going to Breakout 1")
	// Who comes again finds the rooms that are open, though nobody tells of them then.
	ben.chooses("Stay here")
	ben.comesBack()
	ben.noticed("Breakout 1 is open for you")
	ada.comesBack()
	ada.shows("people")
	ben.chooses("Go there")
	ben.waits(`room()?.id !== "` + session.ID + `" && room()?.session.parentSessionId === "` + session.ID + `" && room().state === "joined"`)
	ada.waits(`!document.querySelector(".tile[data-user=ben]")`)
	ben.waits(`room().isOn("camera") && room().isOn("microphone")`)

	// The host visits, and a reload stays in the breakout room.
	ada.chooses("Breakout rooms")
	ada.chooses("Visit")
	ada.sees(ben)
	ben.sees(ada)
	browsertest.Screenshot(t, ada.tab, "meeting-breakout")
	ben.comesBack()
	ada.sees(ben)
	ada.chooses("Main room")
	ada.waits(`room().id === "` + session.ID + `" && room().state === "joined"`)

	ada.shows("people")
	ada.chooses("Breakout rooms")
	ada.chooses("Close all rooms")
	ben.waits(`room()?.id === "` + session.ID + `" && room().state === "joined"`)
	ben.noticed("You are back in the main room")
	ada.sees(ben)
	ben.sees(ada)
	ada.isQuiet()
	ben.isQuiet()
}

func TestTwoCallEachOther(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	invite := func() api.CallAdmission {
		return created(a.InviteCallWithResponse(t.Context(), api.CallInput{FromUserID: "ada", ToUserID: "ben", Kind: api.CallKindVoice}))(t)
	}
	call := invite()
	joins := func(id, token string) *person {
		p := open(t, s, call.SessionID, id, token, "&camera=off")
		browsertest.Look(t, p.tab, 360, 740, true)
		p.waits(`!document.getElementById("lobby").hidden && document.querySelector("#lobby-microphone").ariaPressed === "true"`)
		p.run(chromedp.Evaluate[chromedp.Void](watchRoom))
		p.clicks("#join-button")
		return p
	}
	ada := joins("ada", call.Token)
	answer := created(a.AnswerCallWithResponse(t.Context(), call.SessionID, api.CallPartyInput{UserID: "ben"}))(t)
	ben := joins("ben", answer.Token)
	ada.isIn()
	ben.isIn()
	ada.hears(ben)
	ben.hears(ada)
	require.False(t, browsertest.Value[bool](t, ada.tab, `room().local.has("camera")`))
	browsertest.Screenshot(t, ada.tab, "meeting-call")
	ben.clicks("[data-control=leave]")
	ben.told("You hung up")
	ada.told("The call has ended")

	// One that is declined never was.
	call = invite()
	again := joins("ada", call.Token)
	again.waits(`document.getElementById("alone").textContent === "Calling …"`)
	created(a.DeclineCallWithResponse(t.Context(), call.SessionID, api.CallPartyInput{UserID: "ben"}))(t)
	again.told("Nobody answered")
	for _, p := range []*person{ada, ben, again} {
		p.isQuiet()
	}
}

func TestAHostBroadcastsFromTheRoomPage(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	enter := func(id string, role api.ParticipantRole) *person {
		token := created(a.CreateSfuTokenWithResponse(t.Context(), stream.ID, api.SfuTokenInput{UserID: &id, Role: &role}))(t)
		return open(t, s, stream.ID, id, token.Token)
	}
	ada := enter("ada", api.ParticipantRoleHost)
	ada.joins()
	ada.isIn()
	a.await(stream.ID, api.StreamStatusLIVE)
	cleo := enter("cleo", api.ParticipantRoleViewer)
	cleo.joins()
	require.True(t, browsertest.Value[bool](t, cleo.tab, `document.querySelector(".preview").hidden`), "who watches is asked for no camera")
	cleo.isIn()
	cleo.sees(ada)
	browsertest.Screenshot(t, cleo.tab, "meeting-stream")
	playing(t, s, a.playback(stream.ID).URL)
	ada.clicks("[data-control=leave]")
	ada.told("You left the room")
	a.await(stream.ID, api.StreamStatusENDED)
	ada.isQuiet()
	cleo.isQuiet()
}
