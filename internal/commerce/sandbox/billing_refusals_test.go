package sandbox_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/sandbox"
)

func TestSubscriptionPagesThatCantBe(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	product := r.product(t, "Pro")
	price, yearly := r.plan(t, product, 2000, "month"), r.plan(t, product, 20000, "year")
	customer := r.customer(t, "")
	for name, c := range map[string]struct {
		change func(p *stripe.CheckoutSessionParams)
		code   string
		param  string
	}{
		"no lines": {func(p *stripe.CheckoutSessionParams) { p.LineItems = nil }, "parameter_missing", "line_items"},
		"two intervals": {func(p *stripe.CheckoutSessionParams) {
			p.LineItems = append(p.LineItems, &stripe.CheckoutSessionLineItemParams{Price: new(yearly.ID), Quantity: new(int64(1))})
		}, "", "items"},
		"only a one-time price": {func(p *stripe.CheckoutSessionParams) {
			p.LineItems[0].Price, p.LineItems[0].PriceData = nil, &stripe.CheckoutSessionLineItemPriceDataParams{
				Currency: new("usd"), UnitAmount: new(int64(100)), Product: new(product),
			}
		}, "", "line_items"},
		"no such customer": {func(p *stripe.CheckoutSessionParams) { p.Customer = new("cus_x") }, "resource_missing", "customer"},
		"customer and e-mail": {func(p *stripe.CheckoutSessionParams) {
			p.Customer, p.CustomerEmail = new(customer), new("a@example.test")
		}, "", ""},
		"a tax without a country": {func(p *stripe.CheckoutSessionParams) {
			p.Customer, p.AutomaticTax = new(customer), &stripe.CheckoutSessionAutomaticTaxParams{Enabled: new(true)}
		}, "customer_tax_location_invalid", ""},
		"a trial of a day by its end": {func(p *stripe.CheckoutSessionParams) {
			p.SubscriptionData = &stripe.CheckoutSessionSubscriptionDataParams{TrialEnd: new(r.Now().Add(24 * time.Hour).Unix())}
		}, "", "subscription_data[trial_end]"},
		"a trial of three years": {func(p *stripe.CheckoutSessionParams) {
			p.SubscriptionData = &stripe.CheckoutSessionSubscriptionDataParams{TrialPeriodDays: new(int64(1095))}
		}, "", "subscription_data[trial_period_days]"},
		"an unknown parameter": {func(p *stripe.CheckoutSessionParams) { p.AddExtra("subscription_data[colour]", "red") }, "parameter_unknown", "subscription_data[colour]"},
		"a seller's account":   {func(p *stripe.CheckoutSessionParams) { p.SetStripeAccount(r.seller(t)) }, "", "mode"},
	} {
		p := &stripe.CheckoutSessionParams{
			Mode: new("subscription"), SuccessURL: new("https://shop.example/thanks"),
			LineItems: []*stripe.CheckoutSessionLineItemParams{{Price: new(price.ID), Quantity: new(int64(1))}},
		}
		c.change(p)
		_, err := r.api.CheckoutSessions.New(p)
		said := refused(t, err, 400, c.code)
		require.Equal(t, c.param, said.Param, name)
	}
	require.Empty(t, r.Sessions(""))
}

func TestAPageWithAOneTimePrice(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	product := r.product(t, "Pro")
	customer := r.customer(t, "")
	p := &stripe.CheckoutSessionParams{
		Mode: new("subscription"), SuccessURL: new("https://shop.example/thanks"), Customer: new(customer), ClientReferenceID: new("ten_1"),
		AutomaticTax:   &stripe.CheckoutSessionAutomaticTaxParams{Enabled: new(true)},
		CustomerUpdate: &stripe.CheckoutSessionCustomerUpdateParams{Address: new("auto"), Name: new("auto")},
		TaxIDCollection: &stripe.CheckoutSessionTaxIDCollectionParams{
			Enabled: new(true),
		},
		LineItems: []*stripe.CheckoutSessionLineItemParams{
			{Quantity: new(int64(2)), PriceData: &stripe.CheckoutSessionLineItemPriceDataParams{
				Currency: new("usd"), UnitAmount: new(int64(1000)), Product: new(product),
				Recurring: &stripe.CheckoutSessionLineItemPriceDataRecurringParams{Interval: new("month"), IntervalCount: new(int64(3))},
			}},
			{Quantity: new(int64(1)), PriceData: &stripe.CheckoutSessionLineItemPriceDataParams{
				Currency: new("usd"), UnitAmount: new(int64(500)), TaxBehavior: new("inclusive"),
				ProductData: &stripe.CheckoutSessionLineItemPriceDataProductDataParams{Name: new("Setup")},
			}},
		},
	}
	x, err := r.api.CheckoutSessions.New(p)
	require.NoError(t, err)
	require.Equal(t, int64(2000+380+500), x.AmountTotal)
	done, err := r.CompleteCheckout(x.ID, sandbox.CardPays)
	require.NoError(t, err)
	i, err := r.api.Invoices.Get(done.Plan.InvoiceID, nil)
	require.NoError(t, err)
	require.Equal(t, int64(2880), i.AmountPaid)
	require.Equal(t, int64(380+80), i.Tax)
	require.Len(t, i.Lines.Data, 2)
	sub := r.subscription(t, done.Plan.SubscriptionID)
	require.Len(t, sub.Items, 1)
	require.Equal(t, monthsLater(r.Now(), 3).Unix(), sub.PeriodEnd)
	list := r.api.CheckoutSessions.List(&stripe.CheckoutSessionListParams{Subscription: new(sub.ID)})
	require.True(t, list.Next())
	require.Equal(t, x.ID, list.CheckoutSession().ID)
	require.False(t, list.Next())
}

func TestCardsAreAttachedAndDetached(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	first, second := r.customer(t, ""), r.customer(t, "")
	attach := func(method, customer string) (*stripe.PaymentMethod, error) {
		return r.api.PaymentMethods.Attach(method, &stripe.PaymentMethodAttachParams{Customer: new(customer)})
	}
	_, err := attach("pm_card_chargeDeclined", first)
	refused(t, err, 402, "card_declined")
	card, err := attach("pm_card_visa", first)
	require.NoError(t, err)
	_, err = attach(card.ID, second)
	refused(t, err, 400, "")
	_, err = r.api.Customers.Update(second, &stripe.CustomerParams{InvoiceSettings: &stripe.CustomerInvoiceSettingsParams{
		DefaultPaymentMethod: new(card.ID),
	}})
	refused(t, err, 400, "resource_missing")
	_, err = r.api.Customers.Update(first, &stripe.CustomerParams{InvoiceSettings: &stripe.CustomerInvoiceSettingsParams{
		DefaultPaymentMethod: new(card.ID),
	}})
	require.NoError(t, err)
	list := r.api.Customers.ListPaymentMethods(&stripe.CustomerListPaymentMethodsParams{Customer: new(first), Type: new("card")})
	require.True(t, list.Next())
	require.Equal(t, "4242", list.PaymentMethod().Card.Last4)
	others := r.api.PaymentMethods.List(&stripe.PaymentMethodListParams{Customer: new(second)})
	require.False(t, others.Next())
	require.NoError(t, others.Err())
	r.delivered(t)
	_, err = r.api.PaymentMethods.Detach(card.ID, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"payment_method.detached", "customer.updated"}, r.delivered(t))
	_, err = r.api.PaymentMethods.Detach(card.ID, nil)
	refused(t, err, 400, "")
	get := &stripe.CustomerParams{}
	get.AddExpand("invoice_settings.default_payment_method")
	u, err := r.api.Customers.Get(first, get)
	require.NoError(t, err)
	require.Nil(t, u.InvoiceSettings.DefaultPaymentMethod)
	_, err = r.api.Customers.Get("cus_none", nil)
	refused(t, err, 404, "resource_missing")
}

func TestFaultsAndKeysOfBilling(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	price := r.plan(t, r.product(t, "Pro"), 2000, "month")
	customer := r.customer(t, sandbox.CardFailsLater)
	subscribe := func(key, behavior string) (*stripe.Subscription, error) {
		return r.api.Subscriptions.New(&stripe.SubscriptionParams{
			Params: on("", key), Customer: new(customer), Items: []*stripe.SubscriptionItemsParams{{Price: new(price.ID)}}, PaymentBehavior: new(behavior),
		})
	}
	r.LoseAnswers(1, "/v1/subscriptions")
	_, err := subscribe("a", "allow_incomplete")
	require.Error(t, err)
	require.Len(t, r.Subscriptions(), 1)
	again, err := subscribe("a", "allow_incomplete")
	require.NoError(t, err)
	require.Equal(t, r.Subscriptions()[0].ID, again.ID)
	pay := func() error {
		_, err := r.api.Invoices.Pay(again.LatestInvoice.ID, &stripe.InvoicePayParams{Params: on("", "b")})
		return err
	}
	refused(t, pay(), 402, "card_declined")
	r.delivered(t)
	refused(t, pay(), 402, "card_declined")
	require.Empty(t, r.delivered(t), "the stored answer charges nothing")
	_, err = subscribe("c", "error_if_incomplete")
	refused(t, err, 402, "card_declined")
	require.Len(t, r.Subscriptions(), 1)
	r.Fail(1, "/v1/invoices", http.StatusTooManyRequests)
	_, err = r.api.Invoices.Get(again.LatestInvoice.ID, nil)
	refused(t, err, 429, "rate_limit")
	require.Error(t, r.Advance(-time.Second))
	require.Error(t, r.AdvanceTo(r.Now().Add(-time.Hour)))
}

// TestACurrencyStays: a subscription keeps its currency, and so does its customer until the subscription has ended.
func TestACurrencyStays(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	customer := r.customer(t, sandbox.CardPays)
	product := r.product(t, "Pro")
	euros, err := r.api.Prices.New(&stripe.PriceParams{
		Currency: new("eur"), Product: new(product), UnitAmount: new(int64(900)), Recurring: &stripe.PriceRecurringParams{Interval: new("month")},
	})
	require.NoError(t, err)
	begin := func(price string) (*stripe.Subscription, error) {
		return r.api.Subscriptions.New(&stripe.SubscriptionParams{
			Customer: new(customer), Items: []*stripe.SubscriptionItemsParams{{Price: new(price)}},
		})
	}
	sub, err := begin(r.plan(t, product, 1000, "month").ID)
	require.NoError(t, err)
	_, err = r.api.Subscriptions.Update(sub.ID, &stripe.SubscriptionParams{
		Items: []*stripe.SubscriptionItemsParams{{ID: new(sub.Items.Data[0].ID), Price: new(euros.ID)}},
	})
	refused(t, err, 400, "")
	_, err = begin(euros.ID)
	refused(t, err, 400, "")
	_, err = r.api.Subscriptions.Cancel(sub.ID, nil)
	require.NoError(t, err)
	next, err := begin(euros.ID)
	require.NoError(t, err)
	require.Equal(t, stripe.CurrencyEUR, next.Currency)
}

// monthsLater is the same day n months later, or the month's last day if it has no such day: as on 29 November for three months.
func monthsLater(at time.Time, n int) time.Time {
	at = at.UTC()
	beyond := at.AddDate(0, n, 0)
	if beyond.Day() == at.Day() {
		return beyond
	}
	return beyond.AddDate(0, 0, -beyond.Day())
}
