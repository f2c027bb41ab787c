package web_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const asleep = time.Hour

// sleeps lets an hour pass on the server's and the phone's clocks, but not on the page's monotonic clock, which pauses while a device
// sleeps. meanwhile changes the show. If the browser freezes the page, it closes the page's connections too. If the device sleeps, the
// realtime connection looks open afterwards, but receives nothing any more.
func (p *shopper) sleeps(frozen bool, meanwhile func()) {
	p.t.Helper()
	lives := func(state page.SetWebLifecycleStateState) {
		if !frozen {
			return
		}
		_, err := chromedp.Call(p.tab, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state})
		require.NoError(p.t, err)
	}
	lives(page.SetWebLifecycleStateStateFrozen)
	p.s.change(func() {
		p.s.ahead = asleep
		meanwhile()
	})
	p.does(fmt.Sprintf(`skewMs = %d`, asleep.Milliseconds()))
	lives(page.SetWebLifecycleStateStateActive)
	// The freeze has hidden the page.
	_, err := chromedp.Call(p.tab, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	require.NoError(p.t, err)
}

// TestShopWakesUpAfterAnHour: a phone sleeps for an hour during a show. Afterwards price, stock, pin, auction, own bid, cart and time are
// right, and publications arrive on a new connection, because the old one is dead.
func TestShopWakesUpAfterAnHour(t *testing.T) {
	t.Parallel()
	for name, frozen := range map[string]bool{"a frozen tab": true, "a sleeping device": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wakesUp(t, frozen)
		})
	}
}

func wakesUp(t *testing.T, frozen bool) {
	t.Helper()
	s := newShopScript(t)
	s.show["auctions"] = []message{anAuction(5 * time.Minute)}
	p := newShopper(t, s, "")
	p.before(fmt.Sprintf(wrongClock, 0))
	p.opens(message{"exp": time.Now().Add(6 * time.Hour).Unix()})
	p.clicks("Bid €43.00")
	p.waits(`document.querySelector(".auction.leading")`)
	p.does(`showfloorShow.cart.add(showfloorShow.state.show.products[1])`)
	p.waits(`showfloorShow.cart.units === 1 && !showfloorShow.cart.view.saving`)
	p.sleeps(frozen, func() {
		auction := anAuction(asleep + 10*time.Minute)
		auction["topBidCents"], auction["topBidId"], auction["topBidderName"], auction["minimumBidCents"] = 9000, "bid_x", "Bo L.", 9100
		s.show["auctions"], s.show["pinnedProductId"] = []message{auction}, "prod_plate"
		plate := aProduct("plate", "Dinner plate, set of four", 5000, 1)
		s.show["products"] = []message{plate, someProducts()[0]}
		s.cart = aCart() // it was bought on another device
	})
	select {
	case p.socket = <-s.hears:
	case <-time.After(time.Minute):
		t.Fatal("the page didn't connect again")
	}
	p.waits(`document.querySelector(".pinned")?.textContent.includes("€50.00")`)
	p.reads("Only 1 left")
	p.waits(`document.querySelector(".auction.outbid .top-bid")?.textContent.includes("€90.00")`)
	p.waits(`showfloorShow.state.connection === "connected"`)
	p.waits(`showfloorShow.cart.units === 0`)
	p.countsDown(".auction .countdown", `showfloorShow.state.show.auctions[0].endsAt`)
	p.publishes("stock-tick", message{"productId": "prod_plate", "remaining": 0})
	p.waits(`document.querySelector(".pinned .stock")?.textContent === "Sold out"`)
}

// TestShopSaysThatTheLinkHasExpiredDuringSleep: the token of a page that wakes up isn't valid any more, and the page says what to do.
func TestShopSaysThatTheLinkHasExpiredDuringSleep(t *testing.T) {
	t.Parallel()
	s := newShopScript(t)
	p := newShopper(t, s, "")
	p.before(fmt.Sprintf(wrongClock, 0))
	p.opens(message{"exp": time.Now().Add(asleep / 2).Unix()})
	p.sleeps(true, func() { s.refusals["cart"] = problemOf(http.StatusUnauthorized, "unauthenticated") })
	p.reads("This link has expired")
	p.reads("Open the show from the shop’s page or app again")
	p.looks("expired-asleep")
}
