package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/client"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/flowtest"
)

// customer is a tab on the shopping page.
type customer struct {
	watcher
}

// reads waits until the page shows a text.
func (c *customer) reads(text string) {
	c.t.Helper()
	c.waits(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
}

// presses clicks the button or link whose name begins with a text, as a user's click.
func (c *customer) presses(name string) {
	c.t.Helper()
	find := fmt.Sprintf(`[...(document.querySelector("dialog[open]") ?? document).querySelectorAll("button, a")].find((one) =>
		one.checkVisibility() && !one.disabled && (one.getAttribute("aria-label") ?? one.textContent).trim().startsWith(%q))`, name)
	c.waits(find + ` !== undefined`)
	browsertest.Run(c.t, c.tab, chromedp.Evaluate[chromedp.Void](find+`.click(); undefined`, func(e *runtime.EvaluateParams) { e.UserGesture = new(true) }))
}

// enters types into the e-mail field.
func (c *customer) enters(email string) {
	c.t.Helper()
	browsertest.Run(c.t, c.tab, chromedp.SendKeys(chromedp.CSS("dialog input[type=email]"), email))
}

// pays completes the payment on the page of the sandbox, which leads back to the show.
func (c *customer) pays() {
	c.t.Helper()
	pay := chromedp.CSS("button[name=action][value=pay]")
	browsertest.Run(c.t, c.tab, chromedp.WaitVisible(pay), chromedp.Click(pay), chromedp.WaitVisible(chromedp.CSS("dialog .order-state")))
	c.reads("Your order is paid")
}

// looks checks what is shown with axe, and takes a picture.
func (c *customer) looks(name string) {
	c.t.Helper()
	c.waits(`document.getAnimations().every((one) => one.effect.getTiming().iterations === Infinity)`)
	browsertest.Screenshot(c.t, c.tab, "show-"+name)
	require.Empty(c.t, browsertest.Barriers(c.t, c.tab), name)
}

// sellable onboards a tenant in the sandbox and gives it products.
func sellable(t *testing.T, a *tenant) []api.Product {
	t.Helper()
	link := created(a.CreateOnboardingLinkWithResponse(t.Context(), api.OnboardingLinkInput{
		ReturnURL: "https://acme.example/selling", RefreshURL: "https://acme.example/again",
	}, a.asOwner))(t)
	submit(t, link.OnboardingURL, url.Values{"action": {"finish"}, "name": {"Acme"}, "email": {"owner@acme.example"}})
	until(t, "the seller may take charges", func() bool { return mayCharge(t, a) })
	var all []api.Product
	for i, name := range []string{"Blue mug", "Tall vase"} {
		all = append(all, created(a.UpsertProductWithResponse(t.Context(), api.ProductInput{
			ExternalID: name, Name: name, PriceCents: int64(2000 + 1000*i), Stock: new(int64(3)),
		}))(t))
	}

	return all
}

// ticket returns a participant token for a stream's room.
func (a *tenant) ticket(streamID, user, name string, role api.ParticipantRole) string {
	a.t.Helper()

	return created(a.CreateSfuTokenWithResponse(a.t.Context(), streamID, api.SfuTokenInput{UserID: &user, DisplayName: &name, Role: &role}))(a.t).Token
}

// as makes one call with a token instead of the API key.
func as(token string) client.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)

		return nil
	}
}

// TestShoppingPageSellsLiveAndInTheReplay: a viewer on a phone watches a show, buys the pinned product with a discount that the host
// drops, wins an auction, and buys again in the replay without an account.
func TestShoppingPageSellsLiveAndInTheReplay(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	products := sellable(t, a)
	stream := a.recordedStream(0)
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	host := a.ticket(stream.ID, "ada", "Ada Okafor", api.ParticipantRoleHost)
	asHost := as(host)
	pin := func(id string) {
		answer, err := a.PinShowProductWithResponse(t.Context(), stream.ID, api.ShowPinInput{ProductID: nullable.NewNullableWithValue(id)}, asHost)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode(), "%s", answer.Body)
	}

	c := &customer{watcher{t, browsertest.New(t)}}
	browsertest.Look(t, c.tab, 390, 844, true)
	log := browsertest.Watch(t, c.tab)
	flowtest.Step(t, "live", func(t *testing.T) {
		c.t = t
		browsertest.Run(t, c.tab, chromedp.Navigate(s.url+"/scenarios/shopping/?room="+stream.ID+"&token="+a.ticket(stream.ID, "bo", "Bo Lindqvist", api.ParticipantRoleViewer)))
		c.waits(`document.querySelector("video")?.currentTime > 2`)
		c.waits(`showfloorShow.state.connection === "connected"`)
		c.waits(`showfloorPlayback.latency > 0 && showfloorPlayback.latency < 5`)
		t.Logf("latency: %.1f s", browsertest.Value[float64](t, c.tab, `showfloorPlayback.latency`))
		pin(products[0].ID)
		c.waits(`document.querySelector(".pinned h2")?.textContent === "Blue mug"`)
		c.presses("Send a heart")
		created(a.DropShowDiscountWithResponse(t.Context(), stream.ID, api.DiscountDropInput{Code: "FLASH25", PercentOff: 25, DurationSec: 600}, asHost))(t)
		c.reads("FLASH25")
		c.looks("live")
	})
	flowtest.Step(t, "buy", func(t *testing.T) {
		c.t = t
		c.presses("Apply")
		c.presses("Buy")
		c.presses("Buy now")
		c.presses("One more")
		c.waits(`!showfloorShow.cart.view.saving && showfloorShow.cart.view.totalCents === 3000`)
		c.enters("bo@buyer.example")
		c.looks("cart")
		c.presses("Pay")
		c.pays()
		c.looks("paid")
		c.waits(`showfloorShow.cart.units === 0`)
		c.presses("Keep watching")
		c.reads("Only 1 left")
	})
	flowtest.Step(t, "win an auction", func(t *testing.T) {
		c.t = t
		created(a.CreateShowAuctionWithResponse(t.Context(), stream.ID, api.ShowAuctionInput{
			ProductID: products[1].ID, StartingBidCents: 1000, BidIncrementCents: 100, DurationSec: 20, AntiSnipeSec: new(2),
		}, asHost))(t)
		c.presses("Bid ")
		c.reads("You have the top bid")
		c.looks("leading")
		c.reads("You won!")
		c.paysForTheWin("bo@buyer.example")
	})
	flowtest.Step(t, "end", func(t *testing.T) {
		c.t = t
		pin(products[1].ID)
		created(a.EndShowWithResponse(t.Context(), stream.ID, asHost))(t)
		encoder.terminate(t)
		a.ready(stream.ID)
		c.presses("Watch the replay")
	})
	flowtest.Step(t, "replay", func(t *testing.T) {
		c.t = t
		browsertest.Run(t, c.tab, chromedp.WaitVisible(chromedp.CSS(".chapter")))
		c.waits(`document.querySelector("video")?.currentTime > 1 && document.querySelectorAll(".chapter").length >= 2`)
		c.looks("replay")
		c.presses("0:")
		c.presses("Buy")
		c.presses("Buy now")
		c.waits(`!showfloorShow.cart.view.saving && showfloorShow.cart.view.totalCents === 2000`)
		c.presses("Pay") // the e-mail is still known
		c.pays()
		c.presses("Keep watching")
		c.waits(`showfloorShow.replay.products.find((one) => one.name === "Blue mug").remaining >= 0`)
	})
	require.Empty(t, log.Outside(s.url))
}
