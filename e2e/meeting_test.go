package e2e

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/media/sfu/sfutest"
	"showfloor/internal/testkit/browsertest"
)

func TestTwoMeetInARoom(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	session := openSession(a, api.SessionInput{Type: api.SessionInputTypeConference})
	ada, ben := bringTwo(a, s, session)
	step(t, "they see and hear each other", func(t *testing.T) {
		ada.sees(ben)
		ben.sees(ada)
		ada.hears(ben)
		ben.hears(ada)
		ada.waits(`watched.seen["ben/microphone"].again > 0.5`)
		ben.waits(`watched.seen["ada/microphone"].again > 0.5`)
		// The browsers share a busy machine, so the connection may be good or poor.
		for _, user := range []string{"ada", "ben"} {
			ada.waits(`document.querySelector(".tile[data-user=` + user + `] .tile-quality:not([hidden])") !== null`)
		}
		browsertest.Screenshot(t, ada.tab, "meeting-two")
		ada.waits(`watched.ciphers.join() === "SRTP_AEAD_AES_128_GCM,SRTP_AEAD_AES_128_GCM"`)
	}, a, ada, ben)
	step(t, "they chat", func(t *testing.T) {
		// Chat in both directions, with a count of unread messages while it is closed.
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
	}, a, ada, ben)
	step(t, "a muted participant is silent", func(t *testing.T) {
		// A participant who mutes itself, or is muted by the host, can't be heard.
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
		ada.clicks(`.people-panel li[data-user=ben] .mute`)
		ben.waits(`!room().isOn("microphone")`)
		ada.hearsNothing(ben)
		ben.clicks("[data-control=microphone]")
		ada.hears(ben)
	}, a, ada, ben)
	step(t, "a camera goes off and on", func(t *testing.T) {
		// The camera is switched off and on.
		ben.clicks("[data-control=camera]")
		ada.waits(`!document.querySelector(".tile[data-user=ben] .face").hidden`)
		ben.clicks("[data-control=camera]")
		ada.sees(ben)
	}, a, ada, ben)
	step(t, "a screen is shared", func(t *testing.T) {
		// A shared screen is large for the others while it is shared.
		ada.run(chromedp.Evaluate[chromedp.Void](paintedScreen))
		ada.clicks("[data-control=screen]")
		ben.waits(`document.querySelector(".tile[data-source=screen].main video")?.videoWidth === 1280`)
		browsertest.Screenshot(t, ben.tab, "meeting-screen")
		ada.clicks("[data-control=screen]")
		ben.waits(`!document.querySelector(".tile[data-source=screen]")`)
	}, a, ada, ben)
	step(t, "a reload rejoins", func(t *testing.T) {
		// After a reload the page rejoins by itself; the participant has not left in between.
		joined := participantOf(a, session.ID, "ben").JoinedAt
		ben.comesBack()
		ben.sees(ada)
		ada.sees(ben)
		ada.hears(ben)
		require.Empty(t, browsertest.Value[[]string](t, ada.tab, `watched.left`))
		require.Equal(t, joined, participantOf(a, session.ID, "ben").JoinedAt)
	}, a, ada, ben)
	step(t, "a removed participant stays out", func(t *testing.T) {
		// A removed participant can't come back.
		ada.does("ben", "Remove from the room")
		ada.chooses("Remove")
		ben.waitForFinalScreen("You were removed")
		ada.waits(`!document.querySelector(".tile[data-user=ben]")`)
		ada.isQuiet()
		ben.isQuiet()
		ben.run(chromedp.Reload())
		ben.waitForFinalScreen("You were removed")
		browsertest.Screenshot(t, ben.tab, "meeting-removed")
	}, a, ada, ben)
	step(t, "the host ends the session", func(t *testing.T) {
		ada.clicks("[data-control=leave]")
		ada.chooses("End for everybody")
		ada.chooses("End it")
		ada.waitForFinalScreen("The session has ended")
		ada.isQuiet()
	}, a, ada, ben)
}

// TestAloneBrowsersMeetOverABadNetwork loses a share of the packets in both directions.
// Pictures and sound must continue.
func TestAloneBrowsersMeetOverABadNetwork(t *testing.T) {
	t.Parallel()
	for name, loss := range map[string]float64{"5 in 100 are lost": 0.05, "20 in 100 are lost": 0.2} {
		t.Run(name, func(t *testing.T) {
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
			require.Greater(t, float64(gone-lost), loss/2*float64(after-carried), "it is this network that they met over")
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
	ada.waits(`document.querySelector("[data-control=people] .badge") === null`) // the promotion has lowered the hand
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
	ben.waitForFinalScreen("You are in the waiting room")
	ada.waits(`document.querySelector("[data-control=people] .badge")?.textContent === "1"`)
	ada.shows("people")
	ada.chooses("Admit")
	ben.isIn()
	ada.sees(ben)
	ben.sees(ada)

	// A locked room admits no new participants; those inside may come back.
	ada.clicks(".host-tools label:first-child input")
	until(t, "the room is locked", func() bool {
		answer, err := a.GetSessionWithResponse(t.Context(), session.ID)
		return err == nil && answer.JSON200 != nil && answer.JSON200.Locked
	})
	cleo.joins()
	cleo.waitForFinalScreen("The room is locked")
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

	step(t, "a participant goes to a breakout room", func(t *testing.T) {
		ada.shows("people")
		ada.chooses("Breakout rooms")
		ada.chooses("Open the rooms")
		ben.noticed("You are going to Breakout 1")
		// A participant who rejoins gets the open rooms from the session, although no
		// event announces them then.
		ben.chooses("Stay here")
		ben.comesBack()
		ben.noticed("Breakout 1 is open for you")
		ada.comesBack()
		ada.shows("people")
		ben.chooses("Go there")
		ben.waits(`room()?.id !== "` + session.ID + `" && room()?.session.parentSessionId === "` + session.ID + `" && room().state === "joined"`)
		ada.waits(`!document.querySelector(".tile[data-user=ben]")`)
		ben.waits(`room().isOn("camera") && room().isOn("microphone")`)
	}, ada, ben)
	step(t, "the host visits it", func(t *testing.T) {
		// The host visits, and a reload stays in the breakout room.
		ada.chooses("Breakout rooms")
		ada.chooses("Visit")
		ada.sees(ben)
		ben.sees(ada)
		browsertest.Screenshot(t, ada.tab, "meeting-breakout")
		ben.comesBack()
		ada.sees(ben)
	}, ada, ben)
	step(t, "all come back", func(t *testing.T) {
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
	}, ada, ben)
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
	ben.waitForFinalScreen("You hung up")
	ada.waitForFinalScreen("The call has ended")

	// A declined call ends before it begins.
	call = invite()
	again := joins("ada", call.Token)
	again.waits(`document.getElementById("alone").textContent === "Calling …"`)
	created(a.DeclineCallWithResponse(t.Context(), call.SessionID, api.CallPartyInput{UserID: "ben"}))(t)
	again.waitForFinalScreen("Nobody answered")
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
	require.True(t, browsertest.Value[bool](t, cleo.tab, `document.querySelector(".preview").hidden`), "viewers are not asked for a camera")
	cleo.isIn()
	cleo.sees(ada)
	browsertest.Screenshot(t, cleo.tab, "meeting-stream")
	playing(t, s, a.playback(stream.ID).URL)
	ada.clicks("[data-control=leave]")
	ada.waitForFinalScreen("You left the room")
	a.await(stream.ID, api.StreamStatusENDED)
	ada.isQuiet()
	cleo.isQuiet()
}
