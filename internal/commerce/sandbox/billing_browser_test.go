package sandbox_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/flowtest"
)

// TestSubscribeInABrowser subscribes with 3-D Secure, and pays an invoice and cancels in the portal.
func TestSubscribeInABrowser(t *testing.T) {
	t.Parallel()
	r, site := start(t, nil), shop(t)
	x := r.planPage(t, func(p *stripe.CheckoutSessionParams) {
		p.SuccessURL, p.CancelURL = new(site+"/thanks?s={CHECKOUT_SESSION_ID}"), new(site+"/plans")
		p.AllowPromotionCodes, p.BillingAddressCollection = new(true), new("required")
	})
	portal, err := r.api.BillingPortalConfigurations.New(&stripe.BillingPortalConfigurationParams{
		Features: &stripe.BillingPortalConfigurationFeaturesParams{
			InvoiceHistory:      &stripe.BillingPortalConfigurationFeaturesInvoiceHistoryParams{Enabled: new(true)},
			PaymentMethodUpdate: &stripe.BillingPortalConfigurationFeaturesPaymentMethodUpdateParams{Enabled: new(true)},
			SubscriptionCancel:  &stripe.BillingPortalConfigurationFeaturesSubscriptionCancelParams{Enabled: new(true)},
		},
	})
	require.NoError(t, err)
	ctx := browsertest.New(t)
	flowtest.Step(t, "3-D Secure", func(t *testing.T) {
		browsertest.Run(t, ctx, chromedp.Navigate(x.URL))
		says(t, ctx, "$20.00 / month")
		browsertest.Run(t, ctx, chromedp.SendKeys(chromedp.CSS("#email"), "ada@example.test"), chromedp.Clear(chromedp.CSS("#card")),
			chromedp.SendKeys(chromedp.CSS("#card"), sandbox.CardAuthenticates))
		browsertest.Screenshot(t, ctx, "sandbox-subscribe")
		press(t, ctx, "button[value=pay]")
		says(t, ctx, "Your bank asks")
		browsertest.Screenshot(t, ctx, "sandbox-3ds")
		press(t, ctx, "button[value=authenticate]")
		at(t, ctx, site+"/thanks?s="+x.ID)
	})
	require.NoError(t, r.Advance(month))
	sub := r.Subscriptions()[0]
	require.Equal(t, sandbox.PastDue, sub.Status, "each charge needs the buyer")
	visit, err := r.api.BillingPortalSessions.New(&stripe.BillingPortalSessionParams{
		Customer: new(sub.CustomerID), Configuration: new(portal.ID), ReturnURL: new(site + "/account"),
	})
	require.NoError(t, err)
	flowtest.Step(t, "an invoice of the portal", func(t *testing.T) {
		browsertest.Run(t, ctx, chromedp.Navigate(visit.URL))
		says(t, ctx, "past due")
		browsertest.Screenshot(t, ctx, "sandbox-portal")
		browsertest.Look(t, ctx, 390, 844, true)
		browsertest.Run(t, ctx, chromedp.Navigate(visit.URL))
		says(t, ctx, "past due")
		until(t, ctx, `document.documentElement.scrollWidth <= window.innerWidth`)
		browsertest.Screenshot(t, ctx, "sandbox-portal-phone")
		i := r.latest(t, sub.ID)
		browsertest.Run(t, ctx, chromedp.Navigate(r.url+"/invoices/"+i.ID))
		says(t, ctx, "SB-0001-0002")
		until(t, ctx, `document.documentElement.scrollWidth <= window.innerWidth`)
		browsertest.Screenshot(t, ctx, "sandbox-invoice-phone")
		press(t, ctx, "button[value=pay]")
		says(t, ctx, "This invoice is paid")
		require.Equal(t, sandbox.Active, r.subscription(t, sub.ID).Status)
	})
	flowtest.Step(t, "the portal cancels", func(t *testing.T) {
		browsertest.Look(t, ctx, 1280, 1100, false)
		browsertest.Run(t, ctx, chromedp.Navigate(visit.URL))
		press(t, ctx, "button[value=cancel]")
		says(t, ctx, "Ends on")
		require.True(t, r.subscription(t, sub.ID).CancelAtPeriodEnd)
		browsertest.Run(t, ctx, chromedp.Navigate(r.url+"/"))
		says(t, ctx, "Billing’s clock")
		browsertest.Screenshot(t, ctx, "sandbox-dashboard-billing")
	})
}
