package web_test

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// openLobby opens the page of a session in a browser that asks for devices.
func openLobby(t *testing.T) (s *script, tab context.Context) {
	t.Helper()
	s = newScript(t)
	s.sessions["sess_1"] = aSession("sess_1")
	origin := serve(t, s.handlers())
	tab = tabWithDevices(t)
	askForDevices(t, tab)
	wide(t, tab)
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/scenarios/conference/?room=sess_1&token="+ticketFor(t, "sess_1", "ada")))
	browsertest.WaitFor(t, tab, `globalThis.prompts?.microphone !== undefined`)
	return s, tab
}

func wide(t *testing.T, tab context.Context) {
	t.Helper()
	browsertest.Look(t, tab, 1440, 900, false)
}

func narrow(t *testing.T, tab context.Context) {
	t.Helper()
	browsertest.Look(t, tab, phoneWidth, phoneHeight, true)
}

// both takes a picture on a desktop and on a phone.
func both(t *testing.T, tab context.Context, name string) {
	t.Helper()
	wide(t, tab)
	arranged(t, tab)
	picture(t, tab, name+"-desk")
	narrow(t, tab)
	arranged(t, tab)
	require.True(t, browsertest.Value[bool](t, tab, fitsAcross))
	picture(t, tab, name+"-phone")
	wide(t, tab)
	arranged(t, tab)
}

// arranged returns when the page has adapted to a new size.
func arranged(t *testing.T, tab context.Context) {
	t.Helper()
	does(t, tab, `globalThis.framesDrawn = 0; requestAnimationFrame(() => requestAnimationFrame(() => (globalThis.framesDrawn = 2)))`)
	browsertest.WaitFor(t, tab, `globalThis.framesDrawn === 2 && document.getAnimations().length === 0`)
}

func does(t *testing.T, tab context.Context, script string) {
	t.Helper()
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](script+"; undefined"))
}

func says(device, text string) string {
	return `document.getElementById("says-` + device + `").textContent.includes("` + text + `")`
}

// TestRoomPageJoinsOnceTheBrowserHasItsAnswers checks that a user who joins during the browser's question is
// neither silent nor without a picture afterwards.
func TestRoomPageJoinsOnceTheBrowserHasItsAnswers(t *testing.T) {
	t.Parallel()
	s, tab := openLobby(t)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
	browsertest.WaitFor(t, tab, `document.getElementById("join-waits").textContent.includes("microphone and camera")`)
	browsertest.WaitFor(t, tab, says("camera", "Waiting for your camera"))
	both(t, tab, "room-lobby-asking")
	require.Empty(t, s.opened, "the page has not connected yet")
	does(t, tab, `prompts.microphone.allow()`)
	browsertest.WaitFor(t, tab, `document.getElementById("join-now").textContent === "Join without camera" && prompts.camera`)
	does(t, tab, `prompts.camera.allow()`)
	c := s.next()
	c.send(welcome(someone("ada", "Ada Okafor", "host")))
	require.Len(t, c.hear("offer")["tracks"], 2)
	browsertest.WaitFor(t, tab, roomIsOpen)

	// After a reload, the page waits for the answers as well.
	browsertest.Run(t, tab, chromedp.Reload())
	browsertest.WaitFor(t, tab, noticeShows("Waiting for your microphone and camera"))
	both(t, tab, "room-again-asking")
	does(t, tab, `prompts.microphone.allow(), prompts.camera.refuse()`)
	c = s.next()
	c.send(welcome(someone("ada", "Ada Okafor", "host")))
	require.Len(t, c.hear("offer")["tracks"], 1)
	browsertest.WaitFor(t, tab, `document.querySelector(".notice")?.textContent.includes("use your camera")`)
}

func TestRoomPageJoinsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s, tab := openLobby(t)
	does(t, tab, `prompts.microphone.allow()`)
	browsertest.WaitFor(t, tab, `globalThis.prompts?.camera !== undefined`)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")), chromedp.Click(chromedp.CSS("#join-now")))
	c := s.next()
	c.send(welcome(someone("ada", "Ada Okafor", "host")))
	require.Len(t, c.hear("offer")["tracks"], 1)
	browsertest.WaitFor(t, tab, roomIsOpen)
	does(t, tab, `prompts.camera.allow()`)
	require.False(t, browsertest.Value[bool](t, tab, `showfloorRoom.meeting.room.isOn("camera")`), "the user chose to join without it")
}

// TestRoomPageShowsEachDevicesState checks that a refused microphone stays on the page when the camera works.
func TestRoomPageShowsEachDevicesState(t *testing.T) {
	t.Parallel()
	s, tab := openLobby(t)
	does(t, tab, `prompts.microphone.refuse()`)
	browsertest.WaitFor(t, tab, `globalThis.prompts?.camera !== undefined`)
	does(t, tab, `prompts.camera.allow()`)
	browsertest.WaitFor(t, tab, lobbyIsReady)
	require.True(t, browsertest.Value[bool](t, tab, says("microphone", "Allow it in the address bar")))
	require.True(t, browsertest.Value[bool](t, tab, `document.getElementById("says-camera").textContent === ""`))
	both(t, tab, "room-lobby-refused")

	// A second attempt replaces the microphone's message, and only that.
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#lobby-camera")))
	browsertest.WaitFor(t, tab, `document.getElementById("preview-says").textContent === "Your camera is off"`)
	does(t, tab, `delete prompts.microphone`)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#lobby-microphone")))
	browsertest.WaitFor(t, tab, `globalThis.prompts?.microphone !== undefined`)
	require.True(t, browsertest.Value[bool](t, tab, says("microphone", "Waiting for your microphone")))
	does(t, tab, `prompts.microphone.allow()`)
	browsertest.WaitFor(t, tab, `document.getElementById("says-microphone").textContent === ""`)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#join-button")))
	c := s.next()
	c.send(welcome(someone("ada", "Ada Okafor", "host")))
	require.Len(t, c.hear("offer")["tracks"], 1)
}
