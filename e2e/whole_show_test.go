package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/flowtest"
)

// offline cuts the tab's network or connects it again, and returns when that has taken effect.
func (c *customer) offline(cut bool) {
	c.t.Helper()
	_, err := chromedp.Call(c.tab, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{DownloadThroughput: -1, UploadThroughput: -1, Offline: cut}},
	})
	require.NoError(c.t, err)
	until(c.t, "the network", func() bool {
		const request = `fetch("/favicon.ico", { cache: "no-store" }).then(() => true, () => false)`
		answered, err := chromedp.Run(c.tab, chromedp.Evaluate[bool](request, chromedp.EvalAwaitPromise))
		require.NoError(c.t, err)

		return answered != cut
	})
}

// paidOrders returns the number of paid orders in a stream.
func (a *tenant) paidOrders(streamID string) (n int) {
	a.t.Helper()
	answer, err := a.ListOrdersWithResponse(a.t.Context(), &api.ListOrdersParams{StreamID: &streamID}, a.asOwner)
	require.NoError(a.t, err)
	require.Equal(a.t, http.StatusOK, answer.StatusCode(), "%s", answer.Body)
	for _, o := range *answer.JSON200 {
		if o.PaidAt.IsSpecified() && !o.PaidAt.IsNull() {
			n++
		}
	}

	return n
}

// paysForTheWin pays for a won auction. Its payment page opens in another tab, because it doesn't lead back.
func (c *customer) paysForTheWin(email string) {
	c.t.Helper()
	c.presses("Pay now")
	c.reads("Waiting for your payment")
	browsertest.Run(c.t, c.tab, chromedp.Evaluate[chromedp.Void](
		`showfloorShow.api.orders().then(([won]) => (globalThis.payAt = won.checkoutUrl)); undefined`))
	c.waits(`globalThis.payAt?.startsWith("http")`)
	submit(c.t, browsertest.Value[string](c.t, c.tab, `globalThis.payAt`), url.Values{"action": {"pay"}, "email": {email}})
	c.reads("Your order is paid")
	c.presses("Keep watching")
}

// TestAWholeShow: a host in the studio, three buyers and a bidder. The buyers take the last three units, one of them while the
// network is cut. The bidder's network is cut in the middle of a bid. The server is killed during the auction, and all pages
// return with the right product, stock and bid. The bidder wins and pays, the host ends the show, and a buyer watches the replay.
func TestAWholeShow(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	products := sellable(t, a)
	stream := a.recordedStream(60)
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	open := func(page, user, name string, role api.ParticipantRole, width, height int64) *customer {
		c := &customer{watcher{t, browsertest.New(t)}}
		browsertest.Look(t, c.tab, width, height, width < 600)
		browsertest.Run(t, c.tab, chromedp.Navigate(s.url+"/scenarios/"+page+"/?room="+stream.ID+"&token="+a.ticket(stream.ID, user, name, role)))
		c.waits(`globalThis.showfloorShow?.state?.connection === "connected"`)

		return c
	}
	host := open("studio", "ada", "Ada Okafor", api.ParticipantRoleHost, 1440, 900)
	buyers := []*customer{
		open("shopping", "bo", "Bo Lindqvist", api.ParticipantRoleViewer, 390, 844),
		open("shopping", "cleo", "Cleo Martin", api.ParticipantRoleViewer, 390, 844),
		open("shopping", "dora", "Dora Sato", api.ParticipantRoleViewer, 390, 844),
	}
	bidder := open("shopping", "emil", "Emil Novak", api.ParticipantRoleViewer, 1440, 900)
	all := append([]*customer{host, bidder}, buyers...)
	in := func(t *testing.T) {
		t.Helper()
		for _, c := range all {
			c.t = t
		}
	}

	flowtest.Step(t, "the last three units", func(t *testing.T) {
		in(t)
		host.presses("Show: Blue mug")
		for i, c := range buyers {
			c.waits(`document.querySelector(".pinned h2")?.textContent === "Blue mug"`)
			c.presses("Buy")
			c.presses("Buy now")
			c.waits(`!showfloorShow.cart.view.saving && showfloorShow.cart.view.totalCents === 2000`)
			c.enters(fmt.Sprintf("buyer%d@buyer.example", i))
		}
		buyers[1].offline(true)
		buyers[1].presses("Pay")
		buyers[1].reads("No connection to the server.")
		buyers[1].looks("no-connection")
		buyers[1].offline(false)
		for _, c := range buyers {
			c.presses("Pay")
			c.pays()
			c.presses("Keep watching")
		}
		for _, c := range all {
			c.waits(`showfloorShow.state.show.products.find(({ name }) => name === "Blue mug").remaining === 0`)
		}
		for _, c := range append(buyers, bidder) {
			c.reads("Sold out")
		}
		require.Equal(t, len(buyers), a.paidOrders(stream.ID), "no buyer has paid twice")
	})
	flowtest.Step(t, "a bid while the network is cut", func(t *testing.T) {
		in(t)
		host.presses("Auction: Tall vase")
		host.fills("Starting bid", "10")
		host.fills("Seconds", "90")
		host.presses("Start now")
		buyers[0].presses("Bid ")
		buyers[0].reads("You have the top bid")
		bidder.reads("Bo L.")
		bidder.offline(true)
		bidder.presses("Bid ")
		bidder.reads("No connection to the server.")
		bidder.offline(false)
		bidder.presses("Bid ")
		bidder.reads("You have the top bid")
		buyers[0].reads("You were outbid")
		host.reads("Emil N.")
	})
	again := func() { encode(t, target(stream)) } // a process of a step ends with the step
	flowtest.Step(t, "the server is killed", func(t *testing.T) {
		in(t)
		const state = `(() => { const { auctions: [{ topBidId, topBidCents, endsAt }], pinnedProductId, products } = showfloorShow.state.show;
			return JSON.stringify([topBidId, topBidCents, endsAt, pinnedProductId, products.map(({ id, priceCents, remaining }) => [id, priceCents, remaining])]); })()`
		before := browsertest.Value[string](t, bidder.tab, state)
		for _, c := range all {
			browsertest.Run(t, c.tab, chromedp.Evaluate[chromedp.Void](`globalThis.breaks = 0; showfloorShow.on("change", ({ connection }) => {
				if (connection !== "connected") breaks++; }); undefined`))
		}
		s.kill()
		encoder.wait(t)
		s.start(t)
		ready := time.Now()
		again()
		for _, c := range all {
			c.waits(`breaks > 0 && showfloorShow.state.connection === "connected"`)
			// The server's answers may be a second old.
			c.waits(fmt.Sprintf(`Date.parse(showfloorShow.state.show.serverTime) > %d || void showfloorShow.load()`, ready.UnixMilli()+1000))
		}
		t.Logf("all pages are connected %.1f s after the server is ready", time.Since(ready).Seconds())
		for _, c := range all {
			require.Equal(t, before, browsertest.Value[string](t, c.tab, state))
		}
		a.await(stream.ID, api.StreamStatusLIVE)
		buyers[2].waits(`document.querySelector("video")?.currentTime > 1`)
	})
	flowtest.Step(t, "the bidder wins, and the host ends the show", func(t *testing.T) {
		in(t)
		token := a.ticket(stream.ID, "ada", "Ada Okafor", api.ParticipantRoleHost)
		asHost := as(token)
		pin, err := a.PinShowProductWithResponse(t.Context(), stream.ID, api.ShowPinInput{ProductID: nullable.NewNullableWithValue(products[1].ID)}, asHost)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, pin.StatusCode(), "%s", pin.Body)
		for _, c := range append(buyers, bidder) {
			c.waits(`document.querySelector(".pinned h2")?.textContent === "Tall vase"`)
		}
		for _, c := range []*customer{bidder, buyers[0]} {
			until(t, "the auction has ended", func() bool {
				return browsertest.Value[bool](t, c.tab, `showfloorShow.state.show.auctions.every(({ status }) => status !== "LIVE")`)
			})
		}
		bidder.reads("You won!")
		bidder.paysForTheWin("emil@buyer.example")
		host.reads("Emil Novak")
		buyers[0].waits(`showfloorShow.bids.partIn(showfloorShow.state.show.auctions[0]) === "lost" && !document.body.innerText.includes("You won!")`)
		host.presses("End the show")
		browsertest.Run(t, host.tab, chromedp.Click(chromedp.CSS("dialog[open] .danger")))
		a.await(stream.ID, api.StreamStatusENDED)
		host.reads("Off air")
		buyers[0].reads("Thank you")
	})
	flowtest.Step(t, "the replay", func(t *testing.T) {
		in(t)
		a.ready(stream.ID)
		buyers[0].presses("Watch the replay")
		browsertest.Run(t, buyers[0].tab, chromedp.WaitVisible(chromedp.CSS(".chapter")))
		buyers[0].waits(`document.querySelector("video")?.currentTime > 1 && document.querySelectorAll(".chapter").length >= 2`)
		buyers[0].reads("Sold out")
		require.Equal(t, len(buyers)+1, a.paidOrders(stream.ID), "the winner has paid too")
	})
}
