package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

const (
	shopDeskWidth  = 1440
	shopDeskHeight = 900
	noSheet        = `!document.querySelector("dialog")`
	plays          = `document.querySelector("video")?.currentTime > 0.3`
)

// shopper is a tab on the shopping page.
type shopper struct {
	viewer
	s      *shopScript
	origin string
	log    *browsertest.Log
	socket *websocket.Conn
	paying chan struct{} // receives each visit of the payment page
	// payPage is more HTML of the payment page.
	payPage string
}

// newShopper opens a tab on a scripted show, in the size of a phone, with a film of that size.
func newShopper(t *testing.T, s *shopScript, size string) *shopper {
	t.Helper()
	handlers := s.handlers()
	if size != "" {
		handlers["/hls/"] = film(t, size)
	}
	p := &shopper{viewer: viewer{t, browsertest.New(t)}, s: s, paying: make(chan struct{}, 8)}
	handlers["/pay"] = p.payment
	p.origin = serve(t, handlers)
	p.log = browsertest.Watch(t, p.tab)
	p.speaks("en-GB")
	browsertest.Look(t, p.tab, phoneWidth, phoneHeight, true)

	return p
}

// payment serves the payment page.
func (p *shopper) payment(w http.ResponseWriter, _ *http.Request) {
	p.paying <- struct{}{}
	_, _ = w.Write([]byte(`<!doctype html><link rel=icon href=data:,><title>Payment</title><h1 id=payment>Payment</h1>` + p.payPage))
}

// opens visits the live show with a token of Ada, and waits until it is subscribed.
func (p *shopper) opens(claims ...message) {
	p.t.Helper()
	browsertest.Run(p.t, p.tab, chromedp.Navigate(p.origin+"/scenarios/shopping/?room="+showID+"&token="+
		ticketFor(p.t, showID, "ada", append([]message{{"role": "viewer"}}, claims...)...)))
	select {
	case p.socket = <-p.s.hears:
	case <-time.After(30 * time.Second):
		p.t.Fatal("the page didn't subscribe")
	}
	p.waits(`globalThis.showfloorShow?.state?.connection === "connected"`)
}

func (p *shopper) publishes(kind string, data message) {
	p.t.Helper()
	publishTo(p.t, p.socket, kind, data)
}

// clicks presses the first button that is shown with this accessible name or text.
func (p *shopper) clicks(name string) {
	p.t.Helper()
	find := fmt.Sprintf(`[...(document.querySelector("dialog") ?? document).querySelectorAll("button, a")].find((one) =>
		one.checkVisibility() && !one.disabled && (one.getAttribute("aria-label") ?? one.textContent).trim().startsWith(%q))`, name)
	p.waits(find + ` !== undefined`)
	// As a user's click, so that windows may open.
	browsertest.Run(p.t, p.tab, chromedp.Evaluate[chromedp.Void](find+`.click(); undefined`, func(e *runtime.EvaluateParams) { e.UserGesture = new(true) }))
}

func (p *shopper) reads(text string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
}

// types enters a text into the field with this label.
func (p *shopper) types(label, text string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`(() => {
		const label = [...document.querySelectorAll("label")].find((one) => one.textContent.startsWith(%q));
		const field = label ? document.getElementById(label.htmlFor) : document.querySelector('[aria-label^="' + %q + '"]');
		field?.focus();
		field?.select?.();
		return field !== null && field === document.activeElement; })()`, label, label))
	p.presses(text)
}

// settles waits until what was opened just now is drawn and its animations are over.
func (p *shopper) settles() {
	p.t.Helper()
	const drawn = `new Promise((done) => { setTimeout(done, 1000); requestAnimationFrame(() => requestAnimationFrame(done)); }).then(() => undefined)`
	browsertest.Run(p.t, p.tab, chromedp.Evaluate[chromedp.Void](drawn, chromedp.EvalAwaitPromise))
	p.waits(`document.getAnimations().every((one) => one.effect.getTiming().iterations === Infinity)`)
}

// looks takes pictures on a phone and a desk, and checks each with axe.
func (p *shopper) looks(name string) {
	p.t.Helper()
	for _, a := range browsertest.Appearances(shopDeskWidth, shopDeskHeight) {
		a.Apply(p.t, p.tab)
		p.settles()
		browsertest.Screenshot(p.t, p.tab, "shop-"+name+"-"+a.Name)
		require.Empty(p.t, browsertest.Barriers(p.t, p.tab), "%s, %s", name, a.Name)
		require.True(p.t, browsertest.Value[bool](p.t, p.tab, `document.documentElement.scrollWidth <= innerWidth`), "%s: wider than the screen: %s", name, a.Name)
	}
	browsertest.Look(p.t, p.tab, phoneWidth, phoneHeight, true)
	p.waits(`!document.querySelector(".panel")`)
}

func someChat() []message {
	all := []message{}
	for i, line := range [][2]string{
		{"Bo Lindqvist", "Good evening everyone!"}, {"Cleo", "That blue is gorgeous 😍"}, {"Dora Sato", "Is it dishwasher safe?"},
		{"Emil", "Just got two of them"}, {"فاطمة", "مرحبا من دبي"}, {"Finn", "<b>not bold</b> & <script>alert(1)</script>"},
	} {
		said := written(fmt.Sprintf("msg_%d", i), line[0], line[1])
		said["authorName"] = line[0]
		all = append(all, said)
	}

	return all
}

func TestShopShowsALiveShow(t *testing.T) {
	t.Parallel()

	s := newShopScript(t)
	s.says(someChat()...)
	p := newShopper(t, s, "540x960")
	p.opens()
	p.waits(plays)
	require.Equal(t, p.origin+"/scenarios/shopping/?room="+showID, browsertest.Value[string](t, p.tab, `location.href`), "the token has left")
	p.reads("Only 2 left")
	p.reads("<b>not bold</b>")
	require.Equal(t, "rgb(122 32 72)", browsertest.Value[string](t, p.tab, `document.documentElement.style.getPropertyValue("--primary")`))
	p.looks("live")

	// Publications change the page.
	p.publishes("prod-pin", message{"id": "prod_plate"})
	p.waits(`document.querySelector(".pinned h2")?.textContent === "Dinner plate, set of four"`)
	p.waits(`document.querySelector("[aria-live=polite]")?.textContent.includes("Now in the show: Dinner plate")`)
	p.publishes("prod-pin", message{"id": "prod_mug"})
	p.publishes("stock-tick", message{"productId": "prod_mug", "remaining": 0})
	p.waits(`document.querySelector(".pinned .stock")?.textContent === "Sold out"`)
	p.publishes("stock-tick", message{"productId": "prod_mug", "remaining": 1})
	p.reads("Only 1 left")
	p.publishes("heart", message{"count": 5})
	p.waits(`document.querySelectorAll("#hearts svg").length === 5`)
	p.publishes("show-updated", message{"status": "LIVE", "viewerCount": 1300})
	p.waits(`document.querySelector(".viewers")?.textContent.includes("1.3")`)
	p.publishes("chat.message", written("msg_7", "gus", "Wow!"))
	p.reads("Wow!")
	p.publishes("chat.deleted", message{"id": "msg_7", "channelId": showID, "redactedBy": "ada"})
	p.reads("Message deleted")
	p.publishes("discount-drop", message{"code": "FLASH20", "percentOff": 20, "endsAt": instant(95 * time.Second)})
	p.reads("FLASH20")
	p.looks("drop")
	p.clicks("Apply")
	p.reads("Applied")
	p.types("Say something", "Hello from Ada")
	p.presses(kb.Enter)
	p.reads("Hello from Ada")
	require.Equal(t, "Ada Okafor", s.seen("chat")[0]["authorName"])
	require.Empty(t, p.log.Outside(p.origin))
	for _, complaint := range p.log.Complaints() {
		require.Contains(t, complaint, "live.m3u8", "only the playlist that isn't there yet may be complained of")
	}
}

func TestShopSellsOnAPhone(t *testing.T) {
	t.Parallel()

	s := newShopScript(t)
	p := newShopper(t, s, "960x540")
	p.opens()
	p.waits(plays)
	p.looks("landscape")
	p.clicks("3 products")
	p.waits(`document.querySelectorAll("dialog .shelf li").length === 3`)
	p.looks("shelf")
	p.presses(kb.Escape)
	p.waits(noSheet)
	p.clicks("Buy")
	p.reads("Dishwasher safe")
	p.looks("product")
	p.clicks("One more")
	p.clicks("Buy now")
	p.reads("Pay €48.00")
	p.types("Discount code", "FLASH20")
	p.presses(kb.Enter)
	p.reads("you save €9.60")
	p.looks("cart")
	p.clicks("Pay €38.40")
	p.reads("Enter an e-mail address")
	p.looks("cart-email")
	p.types("E-mail", "ada@buyer.example")

	// Each refusal is said in words, and the cart stays.
	for code, says := range map[string]string{
		"insufficient_stock": "Not enough are left", "discount_invalid": "can’t be used any more", "seller_not_onboarded": "can’t take payments yet",
		"mixed_currencies": "different currencies", "checkout_refused": "refused this order", "processor_unavailable": "can’t be reached",
		"conflict": "has changed in the meantime", "rate_limited": "Try again in 7 s", "something_new": "That didn’t work",
	} {
		s.change(func() { s.refusals["checkout"] = problemOf(http.StatusBadRequest, code) })
		p.clicks("Pay €38.40")
		p.reads(says)
		require.NotContains(t, browsertest.Value[string](t, p.tab, `document.body.innerText`), "a sentence in English")
	}
	p.looks("cart-refused")

	// The answer is lost: the same request is repeated under the same key.
	s.change(func() {
		delete(s.refusals, "checkout")
		s.requests["checkout"] = nil
		s.lost["checkout"] = 1
	})
	p.clicks("Pay €38.40")
	select {
	case <-p.paying:
	case <-time.After(30 * time.Second):
		t.Fatal("the payment page was not opened")
	}
	browsertest.Run(t, p.tab, chromedp.WaitVisible(chromedp.CSS("#payment")))
	made := s.seen("checkout")
	require.Len(t, made, 2)
	require.Equal(t, made[0], made[1])
	require.NotEmpty(t, made[0]["key"])
	require.Equal(t, "ada@buyer.example", made[0]["customerEmail"])

	// The buyer returns, and the processor confirms the payment a little later.
	browsertest.Run(t, p.tab, chromedp.Navigate(p.origin+"/scenarios/shopping/?room="+showID+"&checkout=success"))
	p.reads("waiting for the confirmation")
	p.looks("order-waits")
	s.change(func() { s.orders = []message{anOrder("PAID", "")} })
	p.reads("Your order is paid")
	p.waits(`showfloorShow.cart.units === 0`)
	p.looks("order-paid")
	p.clicks("Keep watching")
	p.waits(noSheet)
	p.clicks("Cart")
	p.reads("Your cart is empty")
	p.looks("cart-empty")
}

// TestShopSellsOnADesk pays in a window of its own, which closes itself after the payment.
func TestShopSellsOnADesk(t *testing.T) {
	t.Parallel()

	s := newShopScript(t)
	p := newShopper(t, s, "")
	p.payPage = `<script type=module>setTimeout(() => location.assign("/scenarios/shopping/?room=` + showID + `&checkout=success"), 300)</script>`
	browsertest.Look(t, p.tab, shopDeskWidth, shopDeskHeight, false)
	p.opens()
	p.clicks("Dinner plate")
	p.clicks("Add to cart")
	p.reads("In your cart")
	p.clicks("Cart, 1 item")
	p.types("E-mail", "ada@buyer.example")
	p.waits(`!showfloorShow.cart.view.saving`)
	p.clicks("Pay €64.50")
	<-p.paying
	p.reads("Waiting for your payment")
	windows := func() int {
		targets, err := chromedp.Targets(p.tab)
		require.NoError(t, err)

		return len(slices.DeleteFunc(targets, func(target *target.Info) bool {
			return target.Type != "page" || !strings.HasPrefix(target.URL, p.origin)
		}))
	}
	require.Eventually(t, func() bool { return windows() == 1 }, 30*time.Second, 50*time.Millisecond, "the window closes itself")
	s.change(func() { s.orders = []message{anOrder("PAID", "")} })
	p.reads("Your order is paid")
	p.looks("order-paid-desk")
}

func TestShopHoldsAnAuction(t *testing.T) {
	t.Parallel()

	s := newShopScript(t)
	s.show["auctions"] = []message{anAuction(3 * time.Minute)}
	p := newShopper(t, s, "540x960")
	p.opens()
	p.waits(plays)
	p.reads("€42.00")
	p.reads("Cleo M.")
	p.looks("auction")
	p.clicks("Bid €43.00")
	p.reads("You have the top bid")
	require.NotEmpty(t, s.seen("bids")[0]["key"])
	p.looks("auction-leading")
	p.publishes("auction-bid", message{"auctionId": "auc_1", "bidId": "bid_x", "amountCents": 5000, "bidderName": "Bo L.", "endsAt": instant(40 * time.Second)})
	p.reads("You were outbid")
	p.publishes("auction-bid", message{"auctionId": "auc_1", "bidId": "bid_y", "amountCents": 5100, "bidderName": "Bo L.", "endsAt": instant(200 * time.Second)})
	p.waits(`document.querySelector(".extension")?.textContent.startsWith("+")`)
	p.looks("auction-outbid")
	p.clicks("Another amount")
	p.types("Your bid", "10")
	p.presses(kb.Enter)
	p.reads("Bid at least €52.00")
	p.looks("auction-bid")
	p.types("Your bid", "60.50")
	p.presses(kb.Enter)
	p.waits(noSheet)
	p.reads("You have the top bid")
	ended := anAuction(-time.Second)
	ended["status"], ended["topBidId"], ended["topBidCents"], ended["topBidderName"] = "ENDED", "bid_6050", 6050, "Ada O."
	ended["winningBidId"] = "bid_6050"
	s.change(func() {
		s.show["auctions"] = []message{ended}
		won := anOrder("PENDING", p.origin+"/pay")
		won["auctionId"] = "auc_1"
		s.orders = []message{won}
	})
	p.publishes("auction-ended", ended)
	p.reads("You won!")
	p.reads("Pay now")
	p.looks("auction-won")
}

func TestShopBeforeAndAfterAShow(t *testing.T) {
	t.Parallel()

	s := newShopScript(t)
	s.show["status"], s.show["scheduledAt"], s.show["pinnedProductId"] = "IDLE", instant(26*time.Hour), nil
	p := newShopper(t, s, "540x960")
	p.opens()
	p.reads("Starts in")
	p.looks("before")
	s.change(func() { s.show["status"], s.show["pinnedProductId"], s.show["canBuy"] = "LIVE", "prod_mug", false })
	p.publishes("show-updated", message{"status": "LIVE", "viewerCount": 3})
	p.waits(plays)
	p.reads("can’t take payments")
	p.looks("cannot-buy")
	p.publishes("show-updated", message{"status": "RECONNECTING", "viewerCount": 3})
	p.reads("short interruption")
	p.looks("interrupted")
	s.change(func() { s.show["status"] = "ENDED" })
	p.publishes("show-updated", message{"status": "ENDED", "viewerCount": 0})
	p.reads("Thank you for watching")
	p.looks("ended")
	s.change(func() { s.show["replayId"] = replayID })
	p.does(`showfloorShow.load()`)
	p.reads("Watch the replay")
	p.looks("ended-replay")
}

func TestShopExplainsAWrongLink(t *testing.T) {
	t.Parallel()

	s := newShopScript(t)
	p := newShopper(t, s, "")
	goes := func(query string) {
		browsertest.Run(t, p.tab, chromedp.Navigate("about:blank"), chromedp.Navigate(p.origin+"/scenarios/shopping/"+query))
	}
	goes("")
	p.reads("This link is incomplete")
	p.looks("no-link")
	goes("?room=" + showID + "&token=" + ticketFor(t, "str_2", "ada"))
	p.reads("This link is for another show")
	s.change(func() { s.refusals[showID] = problemOf(http.StatusNotFound, "not_found") })
	goes("?room=" + showID + "&token=" + ticketFor(t, showID, "ada"))
	p.reads("There is no such show")
	p.looks("unknown")
	s.change(func() { s.refusals[showID] = problemOf(http.StatusUnauthorized, "unauthenticated") })
	goes("?room=" + showID + "&token=" + ticketFor(t, showID, "ada", message{"exp": 1}))
	p.reads("This link has expired")
	p.looks("expired")
}

func TestShopReplaysAShow(t *testing.T) {
	t.Parallel()

	s := newShopScript(t)
	folder := newRecording(t)
	handlers := s.handlers()
	handlers["/hls/"] = http.StripPrefix("/hls/", http.FileServer(http.Dir(folder))).ServeHTTP
	p := &shopper{viewer: viewer{t, browsertest.New(t)}, s: s, paying: make(chan struct{}, 8)}
	handlers["/pay"] = p.payment
	p.origin = serve(t, handlers)
	p.log = browsertest.Watch(t, p.tab)
	p.speaks("de-DE")
	browsertest.Look(t, p.tab, phoneWidth, phoneHeight, true)
	browsertest.Run(t, p.tab, chromedp.Navigate(p.origin+"/scenarios/shopping/?vod="+replayID+"&t=13"))
	p.waits(`document.querySelector("video")?.currentTime > 13`)
	p.reads("Dinner plate")
	p.waits(`document.querySelector(".chapter[aria-current]")?.textContent.includes("Dinner plate")`)
	p.reads("Just bought two")
	p.looks("replay")
	p.clicks("0:02")
	p.waits(`document.querySelector(".pinned h2")?.textContent.startsWith("Stoneware mug")`)
	p.clicks("0:22")
	p.waits(`document.querySelector(".pinned .stock")?.textContent === "Nicht mehr im Angebot"`)
	p.looks("replay-gone")
	require.Empty(t, s.seen("guest-token"), "a viewer needs no token")
	p.clicks("0:02")
	p.clicks("Kaufen")
	p.clicks("In den Warenkorb")
	p.waits(noSheet)
	p.waits(`showfloorShow.cart.units === 1 && !showfloorShow.cart.view.saving`)
	require.Len(t, s.seen("guest-token"), 1)
	p.clicks("Warenkorb, 1")
	p.waits(`document.querySelector("dialog .primary")?.textContent.includes("24,00")`)
	p.looks("replay-cart-de")
	p.types("E-Mail", "ada@buyer.example")
	p.clicks("24,00")
	<-p.paying
	browsertest.Run(t, p.tab, chromedp.WaitVisible(chromedp.CSS("#payment")), chromedp.Navigate(p.origin+"/scenarios/shopping/?vod="+replayID+"&checkout=success"))
	p.reads("Wir warten auf Ihre Zahlung")
	s.change(func() { s.orders = []message{anOrder("PAID", "")} })
	p.reads("Ihre Bestellung ist bezahlt")
	p.looks("replay-order-de")
	p.waits(`showfloorShow.cart.units === 0`)
	require.Len(t, s.seen("guest-token"), 1, "the guest is known again after the payment")
	require.Empty(t, p.log.Complaints())
}

// TestShopReadsTheShowAgainAfterAGap cuts the realtime channel while the show changes.
func TestShopReadsTheShowAgainAfterAGap(t *testing.T) {
	t.Parallel()

	s := newShopScript(t)
	p := newShopper(t, s, "")
	p.opens()
	p.reads("Stoneware mug")
	s.change(func() { s.show["pinnedProductId"], s.show["viewerCount"] = "prod_plate", 7 })
	require.NoError(t, p.socket.CloseNow())
	p.reads("Connecting again")
	p.waits(`document.querySelector(".pinned h2")?.textContent.startsWith("Dinner plate")`)
	p.waits(`showfloorShow.state.connection === "connected"`)
	p.does(`Object.defineProperty(navigator, "onLine", { value: false, configurable: true }); dispatchEvent(new Event("offline"))`)
	p.reads("You are offline")
	p.looks("offline")
}

// TestShopAsksForSound opens a show in a browser that plays no sound before a click, and that blocks storage.
func TestShopAsksForSound(t *testing.T) {
	t.Parallel()

	s := newShopScript(t)
	p := newShopper(t, s, "540x960")
	_, err := chromedp.Call(p.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { get() { throw new DOMException("blocked", "SecurityError"); } });
		const { play } = HTMLMediaElement.prototype;
		HTMLMediaElement.prototype.play = function () {
			return this.muted || globalThis.clicked ? play.call(this) : Promise.reject(new DOMException("no click", "NotAllowedError"));
		};
		addEventListener("click", () => (globalThis.clicked = true), true);`})
	require.NoError(t, err)
	p.opens(message{"name": nil})
	p.waits(plays)
	p.looks("muted")
	p.clicks("Sound on")
	p.waits(`!document.querySelector("video").muted && !document.querySelector(".sound-on")`)
	p.types("Say something", "Hello")
	p.presses(kb.Enter)
	p.types("Your name in the chat", "Ada")
	p.presses(kb.Enter)
	p.reads("Hello")
	require.Equal(t, "Ada", s.seen("chat")[0]["authorName"])
	p.clicks("Buy")
	p.clicks("Buy now")
	p.reads("Pay €24.00")
	browsertest.Run(t, p.tab, chromedp.Reload())
	p.waits(`globalThis.showfloorShow?.state !== undefined`)
}
