package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/flowtest"
)

// fills types a text into the field with a label, in the open dialog.
func (c *customer) fills(label, text string) {
	c.t.Helper()
	find := fmt.Sprintf(`document.getElementById([...document.querySelectorAll("dialog[open] label")].find((one) => one.textContent.startsWith(%q))?.htmlFor)`, label)
	c.waits(find + ` !== null`)
	browsertest.Run(c.t, c.tab, chromedp.Evaluate[chromedp.Void](find+`.select(); undefined`), chromedp.KeyEvent(text))
}

// TestStudioRunsAShow: a host goes live from the browser's camera, and shows products, drops a discount, auctions and moderates
// while a viewer watches and buys. Then the host ends the show.
func TestStudioRunsAShow(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	sellable(t, a)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	open := func(t *testing.T, tab context.Context, page, user, name string, role api.ParticipantRole, width, height int64) *customer {
		t.Helper()
		c := &customer{watcher{t, tab}}
		browsertest.Look(t, c.tab, width, height, width < 600)
		browsertest.Run(t, c.tab, chromedp.Navigate(s.url+"/scenarios/"+page+"/?room="+stream.ID+"&token="+a.ticket(stream.ID, user, name, role)))
		c.waits(`globalThis.showfloorShow?.state?.connection === "connected"`)
		return c
	}
	host := open(t, browsertest.NewWithDevices(t), "studio", "ada", "Ada Okafor", api.ParticipantRoleHost, 1440, 900)
	log := browsertest.Watch(t, host.tab)
	viewer := open(t, browsertest.New(t), "shopping", "bo", "Bo Lindqvist", api.ParticipantRoleViewer, 390, 844)

	flowtest.Step(t, "go live from the camera", func(t *testing.T) {
		host.t, viewer.t = t, t
		host.looks("studio-before")
		host.presses("Check camera and microphone")
		host.waits(`document.querySelector(".studio-preview")?.videoWidth > 0`)
		host.presses("Go live")
		a.await(stream.ID, api.StreamStatusLIVE)
		host.reads("You are live from this browser.")
		host.reads("On air")
		viewer.waits(`document.querySelector("video")?.currentTime > 1`)
		viewer.waits(byWebRTC + ` && showfloorPlayback.frames > 25`)
	})
	flowtest.Step(t, "show and hide a product", func(t *testing.T) {
		host.t, viewer.t = t, t
		host.presses("Show: Blue mug")
		host.reads("Shown now")
		viewer.waits(`document.querySelector(".pinned h2")?.textContent === "Blue mug"`)
		host.presses("Hide: Blue mug")
		viewer.waits(`document.querySelector(".pinned") === null`)
		host.presses("Show: Blue mug")
		viewer.waits(`document.querySelector(".pinned h2")?.textContent === "Blue mug"`)
	})
	flowtest.Step(t, "drop a discount", func(t *testing.T) {
		host.t, viewer.t = t, t
		host.presses("Drop a discount")
		host.fills("Code", "FLASH25")
		host.fills("Percent off", "25")
		host.looks("studio-drop")
		host.presses("Drop it now")
		viewer.reads("FLASH25")
		host.reads("FLASH25")
	})
	flowtest.Step(t, "see a sale", func(t *testing.T) {
		host.t, viewer.t = t, t
		viewer.presses("Apply")
		viewer.presses("Buy")
		viewer.presses("Buy now")
		viewer.waits(`!showfloorShow.cart.view.saving && showfloorShow.cart.view.totalCents === 1500`)
		viewer.enters("bo@buyer.example")
		viewer.presses("Pay")
		viewer.pays()
		host.reads("1 paid order")
		host.reads("$15.00")
		viewer.presses("Keep watching")
	})
	flowtest.Step(t, "auction", func(t *testing.T) {
		host.t, viewer.t = t, t
		host.presses("Auction: Tall vase")
		host.fills("Starting bid", "10")
		host.looks("studio-auction")
		host.presses("Start now")
		viewer.presses("Bid ")
		viewer.reads("You have the top bid")
		host.reads("Bo L.")
		host.looks("studio-live")
	})
	flowtest.Step(t, "moderate the chat", func(t *testing.T) {
		host.t, viewer.t = t, t
		browsertest.Run(t, viewer.tab, chromedp.SendKeys(chromedp.CSS(".composer-line input"), "buy my <b>fakes</b>\r"))
		host.reads("buy my <b>fakes</b>")
		host.presses("Moderate Bo Lindqvist")
		host.presses("Delete the message")
		host.reads("Message deleted")
		viewer.reads("Message deleted")
	})
	flowtest.Step(t, "end the show", func(t *testing.T) {
		host.t, viewer.t = t, t
		host.presses("End the show")
		host.looks("studio-end")
		browsertest.Run(t, host.tab, chromedp.Click(chromedp.CSS("dialog[open] .danger")))
		a.await(stream.ID, api.StreamStatusENDED)
		host.reads("Off air")
	})
	require.Empty(t, log.Outside(s.url))
}

// TestStudioIsForHosts: a viewer's link opens no studio.
func TestStudioIsForHosts(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	c := &customer{watcher{t, browsertest.New(t)}}
	browsertest.Look(t, c.tab, 834, 1112, false)
	browsertest.Run(t, c.tab, chromedp.Navigate(s.url+"/scenarios/studio/?room="+stream.ID+"&token="+a.ticket(stream.ID, "bo", "Bo", api.ParticipantRoleViewer)))
	c.reads("This page is for hosts")
	c.looks("studio-viewer")
}
