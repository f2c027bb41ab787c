package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
)

// payHere is the button of the sandbox's payment page.
const payHere = `button[name=action][value=pay]`

// frozenTime is longer than a live playlist.
const frozenTime = 40 * time.Second

// runningShow is a show on air with a pinned product of three units at $20.
type runningShow struct {
	*tenant

	s      *server
	stream api.Stream
	// link is the show's link for a viewer.
	link string
}

func newRunningShow(t *testing.T) *runningShow {
	t.Helper()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	products := sellable(t, a)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	host := a.ticket(stream.ID, "ada", "Ada Okafor", api.ParticipantRoleHost)
	pin := api.ShowPinInput{ProductID: nullable.NewNullableWithValue(products[0].ID)}
	answer, err := a.PinShowProductWithResponse(t.Context(), stream.ID, pin, as(host))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode(), "%s", answer.Body)
	viewer := a.ticket(stream.ID, "bo", "Bo Lindqvist", api.ParticipantRoleViewer)

	return &runningShow{a, s, stream, s.url + "/scenarios/shopping/?room=" + stream.ID + "&token=" + viewer}
}

// visits opens the show in a tab of a phone's size.
func (r *runningShow) visits(t *testing.T, tab context.Context) *customer {
	t.Helper()
	c := &customer{watcher{t, tab}}
	browsertest.Look(t, tab, 390, 844, true)
	browsertest.Run(t, tab, chromedp.Navigate(r.link))
	c.isInTheShow()

	return c
}

// isInTheShow waits until the page of the show plays and is connected.
func (c *customer) isInTheShow() {
	c.t.Helper()
	c.waits(`globalThis.showfloorShow?.state?.connection === "connected" && document.querySelector("video")?.currentTime > 1`)
}

// has waits until the cart has that many units, and is stored.
func (c *customer) has(units int) {
	c.t.Helper()
	c.waits(fmt.Sprintf(`showfloorShow.cart.units === %d && !showfloorShow.cart.view.saving`, units))
}

// closes leaves the open dialog, if there is one.
func (c *customer) closes() {
	c.t.Helper()
	if browsertest.Value[bool](c.t, c.tab, `document.querySelector("dialog[open]") !== null`) {
		browsertest.Run(c.t, c.tab, chromedp.KeyEvent(kb.Escape))
	}
	c.waits(`document.querySelector("dialog[open]") === null`)
}

// reachesPayment waits until the tab shows the payment page, and returns its address.
func (c *customer) reachesPayment() string {
	c.t.Helper()
	browsertest.Run(c.t, c.tab, chromedp.WaitVisible(chromedp.CSS(payHere)))

	return browsertest.Value[string](c.t, c.tab, `location.href`)
}

// orders returns the number of the tenant's orders.
func (r *runningShow) orders() int {
	r.t.Helper()
	listed, err := r.ListOrdersWithResponse(r.t.Context(), nil)
	require.NoError(r.t, err)
	require.NotNil(r.t, listed.JSON200, "%s", listed.Body)

	return len(*listed.JSON200)
}

// TestBackFromThePaymentPage: a buyer on a phone goes back from the payment page to the running show. His cart is as it was, and the
// second click on "Pay" leads to the same payment page. After the payment the back button leads to the show with an empty cart.
func TestBackFromThePaymentPage(t *testing.T) {
	t.Parallel()
	r := newRunningShow(t)
	c := r.visits(t, browsertest.New(t))
	c.presses("Buy")
	c.presses("Buy now")
	c.has(1)
	c.enters("bo@buyer.example")
	c.presses("Pay $20")
	first := c.reachesPayment()

	c = r.back(c, 1)
	c.has(1)
	c.closes()
	c.presses("Cart, 1 item")
	c.has(1)
	c.presses("Pay $20")
	require.Equal(t, first, c.reachesPayment(), "the same payment page")
	require.Equal(t, 1, r.orders())
	c.pays()
	c.has(0)
	c.closes()

	c = r.back(c, 2)
	c.has(0)
	require.Equal(t, 1, r.orders())
	c.reads("Only 2 left")
}

// back goes back in the browser's history to the page of the show. The browser may have kept that page as it was; then chromedp can't use
// the tab any more, so back attaches to it again.
func (r *runningShow) back(c *customer, steps int) *customer {
	c.t.Helper()
	browsertest.Run(c.t, c.tab, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`setTimeout(() => history.go(%d)); undefined`, -steps)))
	pause(c.t, time.Second) // both pages may have the same address
	again := c.attach("page", r.s.url+"/scenarios/shopping/")
	again.isInTheShow()

	return again
}

// TestTwoTabsOfABuyer: a buyer has the show in two tabs. Both show the same cart. He pays in one, which is the show again afterwards, and
// the other one's cart, which was open, is empty then.
func TestTwoTabsOfABuyer(t *testing.T) {
	t.Parallel()
	r := newRunningShow(t)
	first := r.visits(t, browsertest.New(t))
	second := r.visits(t, browsertest.NewTab(t, first.tab))
	first.presses("Buy")
	first.presses("Buy now")
	second.has(1)
	second.presses("Cart, 1 item")
	second.presses("One more")
	first.has(2)
	first.enters("bo@buyer.example")
	first.presses("Pay $40")
	first.pays()
	first.isInTheShow()
	first.has(0)
	second.has(0)
	second.reads("Your cart is empty")
	second.closes()
	second.reads("Only 1 left")
	require.Equal(t, 1, r.orders())
}

// TestShoppingPageWithBlockedCookies: a buyer whose browser blocks all cookies, and so all storage, watches a show and reloads the page.
// He pays in a second tab, because this one couldn't keep his token, and sees the paid order in the show.
func TestShoppingPageWithBlockedCookies(t *testing.T) {
	t.Parallel()
	r := newRunningShow(t)
	c := r.visits(t, browsertest.NewWithoutStorage(t))
	const stores = `(() => { try { return sessionStorage !== undefined; } catch { return false; } })()`
	require.False(t, browsertest.Value[bool](t, c.tab, stores), "storage is blocked")
	c.presses("Buy")
	c.presses("Buy now")
	c.has(1)
	browsertest.Run(t, c.tab, chromedp.Reload())
	c.isInTheShow()
	c.has(1)
	c.presses("Cart, 1 item")
	c.enters("bo@buyer.example")
	c.presses("Pay $20")
	c.reads("Waiting for your payment")
	payment := c.attach("page", r.s.url+"/sandbox")
	browsertest.Run(t, payment.tab, chromedp.WaitVisible(chromedp.CSS(payHere)), chromedp.Click(chromedp.CSS(payHere)))
	c.reads("Your order is paid")
	c.has(0)
	c.presses("Keep watching")
	c.reads("Only 2 left")
	require.Equal(t, 1, r.orders())
}

// TestShoppingPagePlaysAfterAFreeze: the browser freezes a hidden tab for longer than the playlist lasts. When the buyer returns, the
// picture moves and is as near to the encoder as before.
func TestShoppingPagePlaysAfterAFreeze(t *testing.T) {
	t.Parallel()
	r := newRunningShow(t)
	c := r.visits(t, browsertest.New(t))
	lives := func(state page.SetWebLifecycleStateState) {
		_, err := chromedp.Call(c.tab, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state})
		require.NoError(t, err)
	}
	lives(page.SetWebLifecycleStateStateFrozen)
	pause(t, frozenTime)
	lives(page.SetWebLifecycleStateStateActive)
	// The freeze has hidden the page.
	_, err := chromedp.Call(c.tab, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	require.NoError(t, err)
	c.moves()
	// The player skips if it is more than 5 s behind its target.
	c.waits(`showfloorPlayback.latency > 0 && showfloorPlayback.latency < 12`)
	c.waits(`showfloorShow.state.connection === "connected"`)
}
