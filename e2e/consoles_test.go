package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
)

// TestAdminsSeeAStreamsMedia looks at a stream that an encoder publishes: its picture on the live wall and on its own screen, and the
// graphs of its inspector.
func TestAdminsSeeAStreamsMedia(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase, set("ADMIN_PASSWORD", "the root's password"), set("MASTER_KEY", "c2hvd2Zsb29yLXNob3dmbG9vci1zaG93Zmxvb3ItMTI="))
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 60)
	encoder := encodeSample(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)

	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, 1280, 1000, false)
	entersConsole(t, tab, s.url+"/admin/live", "admin@localhost", "the root's password")
	const picture = `(document.querySelector("img.live-picture")?.naturalWidth ?? 0) > 0`
	browsertest.WaitFor(t, tab, picture)
	browsertest.WaitFor(t, tab, `/1280 × 720 · h264/i.test(document.body.innerText)`)
	looks(t, tab, "admin-live-media")

	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS(fmt.Sprintf(`a[href="/admin/streams/%s"]`, stream.ID))))
	browsertest.WaitFor(t, tab, picture)
	// A line has the colour of its series. The axes and the grid are grey.
	for _, title := range []string{"Bitrate of the last hour, kbit/s", "Pictures a second of the last hour", "Viewers of the last hour"} {
		browsertest.WaitFor(t, tab, fmt.Sprintf(`(() => {
			const canvas = document.querySelector('.chart[aria-label=%q] canvas');
			if (!canvas?.width) return false;
			const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
			let coloured = 0;
			for (let i = 0; i < data.length; i += 4) {
				const rgb = [data[i], data[i + 1], data[i + 2]];
				if (data[i + 3] > 128 && Math.max(...rgb) - Math.min(...rgb) > 60) coloured++;
			}
			return coloured > 50;
		})()`, title))
	}
	browsertest.WaitFor(t, tab, `/avc1\.[0-9a-f]{6}/i.test(document.body.innerText) && document.body.innerText.includes("1280 × 720 · 30 fps")`)
	browsertest.WaitFor(t, tab, `document.body.innerText.includes("mp4a.40.2")`)
	looks(t, tab, "admin-inspector-media")
	encoder.terminate(t)
	complainsOnlyOf(t, log, s.url, needsLogin, noPictureYet)
}

// TestAWinnerPaysByTheConsolesLink has the seller copy the address of the payment page in the console for the winner of an auction,
// who pays there. The console then shows the order as paid.
func TestAWinnerPaysByTheConsolesLink(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	vase := sellable(t, a)[1]
	stream := a.newStream(api.StreamModeLOWLATENCY, 60)
	auction := created(a.CreateAuctionWithResponse(t.Context(), api.AuctionInput{
		StreamID: stream.ID, ProductID: vase.ID, StartingBidCents: 1000, BidIncrementCents: 100, DurationSec: 5, AntiSnipeSec: new(0),
	}))(t)
	created(a.PlaceBidWithResponse(t.Context(), auction.ID, api.BidInput{AmountCents: 1600, BidderExternalID: "user-4711", BidderName: "Bo Lindqvist"}))(t)

	seller := &customer{watcher{t, browsertest.New(t)}}
	log := browsertest.Watch(t, seller.tab)
	browsertest.Look(t, seller.tab, 1280, 1000, false)
	entersConsole(t, seller.tab, s.url+"/console/auctions/"+auction.ID, a.email, a.password)
	seller.reads("To be paid until")
	const copyLink = "Copy the link to the payment page"
	seller.reads(copyLink)
	looks(t, seller.tab, "console-payment-link")
	// A browser without a window has no clipboard.
	browsertest.Run(t, seller.tab, chromedp.Evaluate[chromedp.Void](`navigator.clipboard.writeText = async (text) => { globalThis.copied = text }`))
	seller.presses(copyLink)
	seller.waits(`!!globalThis.copied`)
	link := browsertest.Value[string](t, seller.tab, `globalThis.copied`)

	buyer := &customer{watcher{t, browsertest.New(t)}}
	browsertest.Look(t, buyer.tab, 390, 844, true)
	pay := chromedp.CSS("button[name=action][value=pay]")
	browsertest.Run(t, buyer.tab, chromedp.Navigate(link), chromedp.SendKeys(chromedp.CSS("input[name=email]"), "bo@buyer.example"))
	buyer.reads("16.00")
	looks(t, buyer.tab, "winner-pays")
	browsertest.Run(t, buyer.tab, chromedp.Click(pay), chromedp.WaitVisible(chromedp.CSS("#paid")))
	looks(t, buyer.tab, "winner-paid")

	seller.reads("Sold and paid")
	seller.waits(fmt.Sprintf(`!document.body.innerText.includes(%q)`, copyLink))
	looks(t, seller.tab, "console-auction-paid")
	seller.presses("Open the order")
	seller.reads("bo@buyer.example")
	looks(t, seller.tab, "console-order-paid")
	ended, err := a.GetAuctionWithResponse(t.Context(), auction.ID)
	require.NoError(t, err)
	order, err := a.GetOrderWithResponse(t.Context(), ended.JSON200.OrderID.MustGet())
	require.NoError(t, err)
	require.Equal(t, api.OrderStatusPAID, order.JSON200.Status)
	complainsOnlyOf(t, log, s.url, needsLogin)
}

// looks checks a page with axe and for its width in both colour schemes, and takes pictures: of its graphs, if it has some.
func looks(t *testing.T, tab context.Context, name string) {
	t.Helper()
	for _, look := range browsertest.Appearances(1280, 1000) {
		look.Apply(t, tab)
		browsertest.WaitFor(t, tab, `document.getAnimations().every((one) => one.playState !== "running" || one.effect?.getTiming().iterations === Infinity)`)
		browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`document.querySelector(".chart")?.scrollIntoView({ block: "center" }); undefined`))
		browsertest.Screenshot(t, tab, name+"-"+look.Name)
		require.Empty(t, browsertest.Barriers(t, tab), "%s %s", name, look.Name)
		require.LessOrEqual(t, browsertest.Value[int](t, tab, `document.documentElement.scrollWidth`), int(look.Width), "%s %s", name, look.Name)
	}
	browsertest.Look(t, tab, 1280, 1000, false)
}

// entersConsole opens a page of a console and signs in.
func entersConsole(t *testing.T, tab context.Context, url, email, password string) {
	t.Helper()
	browsertest.Run(t, tab, chromedp.Navigate(url), chromedp.SendKeys(chromedp.CSS("[name=email]"), email),
		chromedp.SendKeys(chromedp.CSS("[name=password]"), password+"\r"))
}

const (
	// needsLogin is the answer by which a console learns that it needs a login.
	needsLogin = `status of 401`
	// noPictureYet is the answer for the picture of a stream that a busy server has not made in time. The page asks again.
	noPictureYet = `status of 503 .*/live/`
)

// complainsOnlyOf fails if the browser complained of anything but these answers, given as regular expressions, or asked another server.
func complainsOnlyOf(t *testing.T, log *browsertest.Log, url string, answers ...string) {
	t.Helper()
	require.Empty(t, log.Outside(url))
	for _, complaint := range log.Complaints() {
		require.Regexp(t, strings.Join(answers, "|"), complaint)
	}
}
