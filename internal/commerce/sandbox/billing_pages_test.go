package sandbox_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/sandbox"
)

// planPage creates a page that starts a subscription of 20.00 a month.
func (r *rig) planPage(t *testing.T, change func(p *stripe.CheckoutSessionParams)) *stripe.CheckoutSession {
	t.Helper()
	p := &stripe.CheckoutSessionParams{
		Mode: new("subscription"), SuccessURL: new("https://shop.example/thanks?s={CHECKOUT_SESSION_ID}"), CancelURL: new("https://shop.example/plans"),
		LineItems: []*stripe.CheckoutSessionLineItemParams{{
			Price: new(r.plan(t, r.product(t, "Pro"), 2000, "month").ID), Quantity: new(int64(1)),
		}},
	}
	if change != nil {
		change(p)
	}
	x, err := r.api.CheckoutSessions.New(p)
	require.NoError(t, err)
	return x
}

func TestThePageOfASubscription(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	coupon, err := r.api.Coupons.New(&stripe.CouponParams{PercentOff: new(25.0), Duration: new("forever")})
	require.NoError(t, err)
	_, err = r.api.PromotionCodes.New(&stripe.PromotionCodeParams{Coupon: new(coupon.ID), Code: new("QUARTER")})
	require.NoError(t, err)
	x := r.planPage(t, func(p *stripe.CheckoutSessionParams) {
		p.AllowPromotionCodes = new(true)
		p.AutomaticTax = &stripe.CheckoutSessionAutomaticTaxParams{Enabled: new(true)}
	})
	buyer := newVisitor(t)
	_, _, body := buyer.visit(t, x.URL, nil)
	require.Contains(t, body, "$20.00 / month")
	require.Contains(t, body, "https://shop.example/plans")
	status, _, body := buyer.visit(t, x.URL, url.Values{"action": {"code"}, "code": {"HALF"}})
	require.Equal(t, 422, status)
	require.Contains(t, body, "This code is invalid")
	status, _, _ = buyer.visit(t, x.URL, url.Values{"action": {"code"}, "code": {"quarter"}})
	require.Equal(t, 303, status)
	_, _, body = buyer.visit(t, x.URL, nil)
	require.Contains(t, body, "$17.85", "25 % off, and 19 % tax")

	form := func(action, card string) url.Values {
		return url.Values{"action": {action}, "card": {card}, "email": {"ada@example.test"}, "country": {"de"}}
	}
	status, _, body = buyer.visit(t, x.URL, form("pay", sandbox.CardWithoutFunds))
	require.Equal(t, 402, status)
	require.Contains(t, body, "insufficient funds")
	status, _, _ = buyer.visit(t, x.URL, url.Values{"action": {"pay"}, "card": {sandbox.CardPays}, "email": {"nobody"}})
	require.Equal(t, 422, status)
	status, _, body = buyer.visit(t, x.URL, form("pay", "4000 0027 6000 3184"))
	require.Equal(t, 200, status)
	require.Contains(t, body, "Complete authentication")
	status, _, _ = buyer.visit(t, x.URL, form("fail", sandbox.CardAuthenticates))
	require.Equal(t, 402, status)
	require.Empty(t, r.Subscriptions())
	_, location, _ := buyer.visit(t, x.URL, form("authenticate", sandbox.CardAuthenticates))
	require.Equal(t, "https://shop.example/thanks?s="+x.ID, location)
	i := r.Invoices()[0]
	require.Equal(t, int64(1785), i.PaidCents)
	require.Equal(t, "DE", r.Customers()[0].Address["country"])
	_, _, body = buyer.visit(t, x.URL, nil)
	require.Contains(t, body, "You have subscribed")

	trial := r.planPage(t, func(p *stripe.CheckoutSessionParams) {
		p.PaymentMethodCollection = new("if_required")
		p.SubscriptionData = &stripe.CheckoutSessionSubscriptionDataParams{TrialPeriodDays: new(int64(14))}
	})
	_, _, body = buyer.visit(t, trial.URL, nil)
	require.Contains(t, body, "14 days free")
	require.NotContains(t, body, "Card number")
	status, _, _ = buyer.visit(t, trial.URL, form("pay", ""))
	require.Equal(t, 303, status)
	require.Equal(t, sandbox.Trialing, r.Subscriptions()[0].Status)
}

func TestAnInvoicesPage(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	price := r.plan(t, r.product(t, "Pro"), 2000, "month")
	sub := r.subscribe(t, r.customer(t, sandbox.CardFailsLater), price.ID, nil)
	i, err := r.api.Invoices.Get(sub.LatestInvoice.ID, nil)
	require.NoError(t, err)
	person := newVisitor(t)
	_, _, body := person.visit(t, i.HostedInvoiceURL, nil)
	require.Contains(t, body, "SB-0001-0001")
	require.Contains(t, body, "Pay $20.00")
	status, _, body := person.visit(t, i.HostedInvoiceURL, url.Values{"action": {"pay"}, "card": {sandbox.CardDeclined}})
	require.Equal(t, 402, status)
	require.Contains(t, body, "Your card was declined")
	_, _, body = person.visit(t, i.HostedInvoiceURL, url.Values{"action": {"pay"}, "card": {sandbox.CardAuthenticatesOnce}})
	require.Contains(t, body, "Fail authentication")
	status, _, _ = person.visit(t, i.HostedInvoiceURL, url.Values{"action": {"fail"}, "card": {sandbox.CardAuthenticatesOnce}})
	require.Equal(t, 402, status)
	status, _, _ = person.visit(t, i.HostedInvoiceURL, url.Values{"action": {"authenticate"}, "card": {sandbox.CardAuthenticatesOnce}})
	require.Equal(t, 303, status)
	require.Equal(t, sandbox.Active, r.subscription(t, sub.ID).Status)
	_, _, body = person.visit(t, i.HostedInvoiceURL, nil)
	require.Contains(t, body, "This invoice is paid")
	status, _, body = person.visit(t, i.InvoicePDF, nil)
	require.Equal(t, 200, status)
	require.True(t, strings.HasPrefix(body, "%PDF-"))
	status, _, _ = person.visit(t, r.url+"/invoices/in_none", nil)
	require.Equal(t, 404, status)
}

func TestThePortal(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	customer := r.customer(t, sandbox.CardPays)
	sub := r.subscribe(t, customer, r.plan(t, r.product(t, "Pro"), 2000, "month").ID, nil)
	_, err := r.api.BillingPortalSessions.New(&stripe.BillingPortalSessionParams{Customer: new(customer)})
	refused(t, err, 400, "")
	features := func(cancel bool) *stripe.BillingPortalConfigurationParams {
		return &stripe.BillingPortalConfigurationParams{
			BusinessProfile: &stripe.BillingPortalConfigurationBusinessProfileParams{Headline: new("Our plans")},
			Features: &stripe.BillingPortalConfigurationFeaturesParams{
				InvoiceHistory:      &stripe.BillingPortalConfigurationFeaturesInvoiceHistoryParams{Enabled: new(true)},
				PaymentMethodUpdate: &stripe.BillingPortalConfigurationFeaturesPaymentMethodUpdateParams{Enabled: new(true)},
				SubscriptionCancel: &stripe.BillingPortalConfigurationFeaturesSubscriptionCancelParams{
					Enabled: new(cancel), Mode: new("at_period_end"),
				},
			},
		}
	}
	portal, err := r.api.BillingPortalConfigurations.New(features(false))
	require.NoError(t, err)
	visit, err := r.api.BillingPortalSessions.New(&stripe.BillingPortalSessionParams{
		Customer: new(customer), Configuration: new(portal.ID), ReturnURL: new("https://shop.example/account"),
	})
	require.NoError(t, err)
	person := newVisitor(t)
	do := func(action, id, card string) int {
		status, _, _ := person.visit(t, visit.URL, url.Values{"action": {action}, "id": {id}, "card": {card}})
		return status
	}
	_, _, body := person.visit(t, visit.URL, nil)
	for _, text := range []string{"Our plans", "https://shop.example/account", "SB-0001-0001", "Visa ···· 4242", "Renews on"} {
		require.Contains(t, body, text)
	}
	require.NotContains(t, body, ">Cancel the plan<")
	require.Equal(t, 400, do("cancel", sub.ID, ""))
	_, err = r.api.BillingPortalConfigurations.Update(portal.ID, features(true))
	require.NoError(t, err)
	require.Equal(t, 303, do("cancel", sub.ID, ""))
	require.True(t, r.subscription(t, sub.ID).CancelAtPeriodEnd)
	require.Equal(t, 303, do("renew", sub.ID, ""))
	require.False(t, r.subscription(t, sub.ID).CancelAtPeriodEnd)

	status, _, _ := person.visit(t, visit.URL, url.Values{"action": {"edit"}, "name": {"Ada"}, "email": {"new@example.test"}})
	require.Equal(t, 400, status, "the configuration doesn't allow it")
	edit := features(true)
	edit.Features.CustomerUpdate = &stripe.BillingPortalConfigurationFeaturesCustomerUpdateParams{
		Enabled: new(true), AllowedUpdates: []*string{new("email"), new("name")},
	}
	_, err = r.api.BillingPortalConfigurations.Update(portal.ID, edit)
	require.NoError(t, err)
	status, _, _ = person.visit(t, visit.URL, url.Values{"action": {"edit"}, "name": {"Ada"}, "email": {"new@example.test"}})
	require.Equal(t, 303, status)
	flow, err := r.api.BillingPortalSessions.New(&stripe.BillingPortalSessionParams{
		Customer: new(customer), FlowData: &stripe.BillingPortalSessionFlowDataParams{
			Type: new("subscription_cancel"), SubscriptionCancel: &stripe.BillingPortalSessionFlowDataSubscriptionCancelParams{
				Subscription: new(sub.ID),
			},
		},
	})
	require.NoError(t, err)
	_, _, body = person.visit(t, flow.URL, nil)
	require.Contains(t, body, "Cancel the plan")
	require.NotContains(t, body, "Add card")

	require.Equal(t, 402, do("add", "", sandbox.CardDeclined))
	require.Equal(t, 200, do("add", "", sandbox.CardAuthenticatesOnce))
	require.Equal(t, 303, do("authenticate", "", sandbox.CardAuthenticatesOnce))
	cards := r.Cards(customer)
	require.Len(t, cards, 2)
	require.Equal(t, 303, do("default", cards[0].ID, ""))
	u, _ := r.Customer(customer)
	require.Equal(t, cards[0].ID, u.DefaultCard)
	require.Equal(t, "new@example.test", u.Email)
	require.Equal(t, 303, do("remove", cards[1].ID, ""))
	require.Equal(t, 404, do("remove", r.Cards(customer)[0].ID+"x", ""))
	require.NoError(t, r.Advance(month))
	require.Equal(t, sandbox.Paid, r.latest(t, sub.ID).Status, "the holder has confirmed the card when it was added")
	r.advance(time.Hour)
	status, _, _ = person.visit(t, visit.URL, nil)
	require.Equal(t, 404, status)
}

func TestTheDashboardsClock(t *testing.T) {
	t.Parallel()
	r := startAt(t, "2027-01-31T10:00:00Z")
	sub := r.subscribe(t, r.customer(t, sandbox.CardPays), r.plan(t, r.product(t, "Pro"), 2000, "month").ID, nil)
	person := newVisitor(t)
	do := func(value string) int {
		status, _, _ := person.visit(t, r.url+"/actions/advance", url.Values{"value": {value}})
		return status
	}
	require.Equal(t, 303, do("day"))
	require.Equal(t, 303, do("month"))
	require.Equal(t, "2027-03-01", r.Now().UTC().Format(time.DateOnly))
	require.Equal(t, 303, do("2027-06-01"))
	require.Equal(t, 400, do("2027-01-01"))
	require.Equal(t, 400, do("2099-01-01"))
	require.Equal(t, 400, do("tomorrow"))
	require.Len(t, r.Invoices(), 5)
	_, _, body := person.visit(t, r.url+"/", nil)
	require.Contains(t, body, "1 Jun 2027")
	require.Contains(t, body, sub.ID)
	require.Contains(t, body, "SB-0001-0005")
}
