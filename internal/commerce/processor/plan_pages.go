package processor

import (
	"context"
	"time"

	"github.com/stripe/stripe-go/v76"
)

// NewPlanPage describes a page on which a customer books a plan.
type NewPlanPage struct {
	CustomerID, TenantID string
	Price                Price
	// TrialDays, or TrialEnd for a trial that runs already; zero for no trial.
	TrialDays             int
	TrialEnd              time.Time
	SuccessURL, CancelURL string
	// AutomaticTax lets the processor compute taxes.
	AutomaticTax bool
}

// CreatePlanPage creates a page on which a customer books a plan. It is open for 24 hours.
func (c *Client) CreatePlanPage(ctx context.Context, p NewPlanPage) (PaymentPage, error) {
	labels := map[string]string{metaTenant: p.TenantID}
	asked := &stripe.CheckoutSessionParams{
		Params: params(ctx, "", ""), Mode: new(string(stripe.CheckoutSessionModeSubscription)), Customer: new(p.CustomerID),
		ClientReferenceID: new(p.TenantID), SuccessURL: new(p.SuccessURL), CancelURL: new(p.CancelURL),
		AllowPromotionCodes: new(true), Metadata: labels,
		LineItems: []*stripe.CheckoutSessionLineItemParams{{
			Quantity: new(int64(1)),
			PriceData: &stripe.CheckoutSessionLineItemPriceDataParams{
				Product: new(p.Price.ProductID), UnitAmount: new(p.Price.UnitCents), Currency: new(p.Price.Currency),
				Recurring: &stripe.CheckoutSessionLineItemPriceDataRecurringParams{Interval: new(p.Price.interval())},
			},
		}},
		SubscriptionData: &stripe.CheckoutSessionSubscriptionDataParams{Metadata: labels},
	}
	switch {
	case !p.TrialEnd.IsZero():
		asked.SubscriptionData.TrialEnd = new(p.TrialEnd.Unix())
	case p.TrialDays > 0:
		asked.SubscriptionData.TrialPeriodDays = new(int64(p.TrialDays))
	}
	if p.AutomaticTax {
		asked.AutomaticTax = &stripe.CheckoutSessionAutomaticTaxParams{Enabled: new(true)}
		asked.TaxIDCollection = &stripe.CheckoutSessionTaxIDCollectionParams{Enabled: new(true)}
		asked.CustomerUpdate = &stripe.CheckoutSessionCustomerUpdateParams{Address: new("auto"), Name: new("auto")}
	}
	made, err := c.api.CheckoutSessions.New(asked)
	if err := c.failed(ctx, "create page of plan", err, made.ID != ""); err != nil {
		return PaymentPage{}, err
	}
	return session(made), nil
}

// CreatePortalConfiguration creates the settings of a portal: with or without the cancellation of the subscription.
func (c *Client) CreatePortalConfiguration(ctx context.Context, mayCancel bool) (configurationID string, err error) {
	on := new(true)
	made, err := c.api.BillingPortalConfigurations.New(&stripe.BillingPortalConfigurationParams{
		Params: params(ctx, "", ""), BusinessProfile: &stripe.BillingPortalConfigurationBusinessProfileParams{},
		Features: &stripe.BillingPortalConfigurationFeaturesParams{
			CustomerUpdate: &stripe.BillingPortalConfigurationFeaturesCustomerUpdateParams{
				Enabled: on, AllowedUpdates: []*string{new("email"), new("address"), new("tax_id")},
			},
			InvoiceHistory:      &stripe.BillingPortalConfigurationFeaturesInvoiceHistoryParams{Enabled: on},
			PaymentMethodUpdate: &stripe.BillingPortalConfigurationFeaturesPaymentMethodUpdateParams{Enabled: on},
			SubscriptionCancel: &stripe.BillingPortalConfigurationFeaturesSubscriptionCancelParams{
				Enabled: new(mayCancel), Mode: new("at_period_end"),
			},
		},
	})
	if err := c.failed(ctx, "create settings of portal", err, made.ID != ""); err != nil {
		return "", err
	}
	return made.ID, nil
}

// CreatePortal creates a page with a customer's invoices and payment methods, and returns its URL.
func (c *Client) CreatePortal(ctx context.Context, customerID, configurationID, returnURL string) (url string, err error) {
	made, err := c.api.BillingPortalSessions.New(&stripe.BillingPortalSessionParams{
		Params: params(ctx, "", ""), Customer: new(customerID), Configuration: new(configurationID), ReturnURL: new(returnURL),
	})
	if err := c.failed(ctx, "create portal", err, made.URL != ""); err != nil {
		return "", err
	}
	return made.URL, nil
}
