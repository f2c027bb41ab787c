package sandbox_test

import (
	"context"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/flowtest"
)

// shop serves the seller's site, to which the pages lead back.
func shop(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mug.png" {
			_ = png.Encode(w, picture())
			return
		}
		_, _ = w.Write([]byte("<!doctype html><title>Shop</title><link rel=icon href=data:,>"))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// picture is an image for the payment page.
func picture() image.Image {
	const size = 112
	m := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			m.Set(x, y, color.RGBA{uint8(60 + x), uint8(120 + y/2), 190, 255})
		}
	}
	return m
}

// press clicks the button that this selector finds.
func press(t *testing.T, ctx context.Context, button string) {
	t.Helper()
	browsertest.Run(t, ctx, chromedp.Click(chromedp.CSS(button)))
}

// until waits until an expression is true on the current page.
func until(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		// During navigation there is no page that could evaluate it.
		if met, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression)); err == nil && met {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			browsertest.Screenshot(t, ctx, "failed/"+t.Name())
			t.Fatalf("timed out waiting for %s", expression)
		}
	}
}

func at(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	until(t, ctx, `document.readyState === "complete" && location.href === "`+url+`"`)
}

func says(t *testing.T, ctx context.Context, text string) {
	t.Helper()
	until(t, ctx, `document.readyState === "complete" && document.body.innerText.includes("`+text+`")`)
}

func TestASellerAndABuyerClickThrough(t *testing.T) {
	t.Parallel()
	r, site := start(t, nil), shop(t)
	a, err := r.api.Accounts.New(&stripe.AccountParams{
		Type: new("standard"), BusinessProfile: &stripe.AccountBusinessProfileParams{Name: new("Brew & Bean <Roasters>")},
	})
	require.NoError(t, err)
	link := func(t *testing.T) string {
		t.Helper()
		l, err := r.api.AccountLinks.New(&stripe.AccountLinkParams{
			Account: new(a.ID), Type: new("account_onboarding"),
			ReturnURL: new(site + "/selling"), RefreshURL: new(site + "/again"),
		})
		require.NoError(t, err)
		return l.URL
	}
	ctx := browsertest.New(t)
	log := browsertest.Watch(t, ctx)

	flowtest.Step(t, "onboarding", func(t *testing.T) {
		left := link(t)
		browsertest.Run(t, ctx, chromedp.Navigate(left))
		says(t, ctx, "Set up your seller account")
		press(t, ctx, "button[value=later]")
		at(t, ctx, site+"/selling")
		browsertest.Run(t, ctx, chromedp.Navigate(left))
		at(t, ctx, site+"/again")
		browsertest.Run(t, ctx, chromedp.Navigate(link(t)))
		says(t, ctx, "Brew & Bean <Roasters>")
		browsertest.Screenshot(t, ctx, "sandbox-onboarding")
		press(t, ctx, "button[value=finish]")
		at(t, ctx, site+"/selling")
	})
	flowtest.Step(t, "the account is onboarded", func(t *testing.T) {
		onboarded, known := r.Account(a.ID)
		require.True(t, known)
		require.True(t, onboarded.DetailsSubmitted)
		require.True(t, onboarded.ChargesEnabled)
		require.Equal(t, []string{"account.updated"}, r.delivered(t))
	})
	page := r.fullPage(t, a.ID, site)
	flowtest.Step(t, "a card is declined, then accepted", func(t *testing.T) {
		browsertest.Run(t, ctx, chromedp.Navigate(page.URL))
		says(t, ctx, "Pay with card")
		until(t, ctx, `[...document.images].every(i => i.complete && i.naturalWidth > 0)`)
		browsertest.Screenshot(t, ctx, "sandbox-checkout")
		browsertest.Run(t, ctx, chromedp.SendKeys(chromedp.CSS("#email"), "ada@example.test"))
		press(t, ctx, "button[value=decline]")
		says(t, ctx, "Your card was declined")
		browsertest.Look(t, ctx, 390, 844, false)
		browsertest.Screenshot(t, ctx, "sandbox-checkout-declined-phone")
		press(t, ctx, "button[value=pay]")
		at(t, ctx, site+"/thanks?s="+page.ID)
	})
	paid, known := r.Session(page.ID)
	require.True(t, known)
	flowtest.Step(t, "the page is paid once", func(t *testing.T) {
		require.Equal(t, "ada@example.test", paid.PaidBy)
		browsertest.Run(t, ctx, chromedp.Navigate(page.URL))
		says(t, ctx, "This page has been paid")
		browsertest.Screenshot(t, ctx, "sandbox-paid-phone")
	})
	later := r.fullPage(t, a.ID, site)
	flowtest.Step(t, "payment by bank transfer", func(t *testing.T) {
		browsertest.Run(t, ctx, chromedp.Navigate(later.URL), chromedp.SendKeys(chromedp.CSS("#email"), "bob@example.test"))
		press(t, ctx, "button[value=bank]")
		at(t, ctx, site+"/thanks?s="+later.ID)
		waiting, _ := r.Session(later.ID)
		require.Equal(t, "unpaid", waiting.PaymentStatus)
	})
	r.fullPage(t, a.ID, site)
	_, err = r.Refund(paid.PaymentID, 1200)
	require.NoError(t, err)
	r.delivered(t)
	r.answer(http.StatusServiceUnavailable)
	flowtest.Step(t, "the dashboard settles the transfer", func(t *testing.T) {
		browsertest.Look(t, ctx, 1280, 1100, false)
		browsertest.Run(t, ctx, chromedp.Navigate(r.url+"/"))
		says(t, ctx, "on its way")
		browsertest.Screenshot(t, ctx, "sandbox-dashboard")
		press(t, ctx, "#sessions form[action$=settle] button")
		until(t, ctx, `document.readyState === "complete" && !document.body.innerText.includes("on its way")`)
		settled, _ := r.Session(later.ID)
		require.Equal(t, "paid", settled.PaymentStatus)
		r.delivered(t)
	})
	flowtest.Step(t, "the dashboard on a phone", func(t *testing.T) {
		browsertest.Look(t, ctx, 390, 844, true)
		browsertest.Run(t, ctx, chromedp.Navigate(r.url+"/"))
		says(t, ctx, "again at")
		browsertest.Screenshot(t, ctx, "sandbox-dashboard-phone")
		until(t, ctx, `document.documentElement.scrollWidth <= window.innerWidth`)
	})
	complaints := log.Complaints()
	for _, c := range complaints {
		// The page for the declined card has an error status.
		require.Contains(t, c, "402")
	}
}

// fullPage creates a payment page with pictures and a discount.
func (r *rig) fullPage(t *testing.T, account, site string) *stripe.CheckoutSession {
	t.Helper()
	k, err := r.api.Coupons.New(&stripe.CouponParams{
		Params: on(account, ""), AmountOff: new(int64(500)), Currency: new("usd"), Duration: new("once"),
		Name: new("LAUNCH5"), MaxRedemptions: new(int64(1)),
	})
	require.NoError(t, err)
	p := r.page(account)
	p.SuccessURL, p.CancelURL = new(site+"/thanks?s={CHECKOUT_SESSION_ID}"), new(site+"/cart")
	p.ExpiresAt = new(r.now().Add(time.Hour).Unix())
	p.Discounts = []*stripe.CheckoutSessionDiscountParams{{Coupon: new(k.ID)}}
	p.LineItems[0].PriceData.ProductData.Name = new("Enamel mug “First light”, 350 ml")
	p.LineItems[0].PriceData.ProductData.Images = []*string{new(site + "/mug.png")}
	p.LineItems = append(p.LineItems, &stripe.CheckoutSessionLineItemParams{
		Quantity: new(int64(1)),
		PriceData: &stripe.CheckoutSessionLineItemPriceDataParams{
			Currency: new("usd"), UnitAmount: new(int64(2450)),
			ProductData: &stripe.CheckoutSessionLineItemPriceDataProductDataParams{Name: new("House blend " + strings.Repeat("very ", 6) + "dark <b>")},
		},
	})
	made, err := r.api.CheckoutSessions.New(p)
	require.NoError(t, err)
	return made
}
