package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
)

const (
	// metaKind labels a subscription with its purpose. A subscription to a plan has no such label.
	metaKind    = "showfloor_kind"
	kindOverage = "overage"
)

// OverageSubscription is a customer's second subscription. It has only metered monthly prices, which charge the usage above what the
// plan includes.
type OverageSubscription struct {
	ID string
	// Status is the processor's own: incomplete, incomplete_expired, active, past_due, canceled, unpaid or paused.
	Status string
	// PriceIDs are the prices of its items, and Since is when each was added: earlier usage isn't billed.
	PriceIDs []string
	Since    map[string]time.Time
	// Currency is in lower case.
	Currency               string
	PeriodStart, PeriodEnd time.Time
	// EndedAt is zero while the subscription runs.
	EndedAt, CreatedAt time.Time
	// PaymentMethodID is empty if the customer's default is charged.
	PaymentMethodID string
	// ByInvoice: invoices are sent, due after DaysUntilDue. Otherwise the card is charged.
	ByInvoice    bool
	DaysUntilDue int
	// PaymentURL is the page of the newest invoice if that is open; otherwise empty.
	PaymentURL string
}

// isOverage reports whether the labels are those of an overage subscription.
func isOverage(labels map[string]string) bool { return labels[metaKind] == kindOverage }

func overageSubscription(s *stripe.Subscription) OverageSubscription {
	out := OverageSubscription{
		ID: s.ID, Status: string(s.Status), PeriodStart: moment(s.CurrentPeriodStart), PeriodEnd: moment(s.CurrentPeriodEnd),
		EndedAt: moment(s.EndedAt), CreatedAt: moment(s.Created), PaymentMethodID: paymentMethod(s),
		ByInvoice: s.CollectionMethod == stripe.SubscriptionCollectionMethodSendInvoice, DaysUntilDue: int(s.DaysUntilDue),
		PaymentURL: paymentURL(s), Currency: string(s.Currency), Since: map[string]time.Time{},
	}
	if s.Items != nil {
		for _, item := range s.Items.Data {
			if item.Price != nil {
				out.PriceIDs = append(out.PriceIDs, item.Price.ID)
				out.Since[item.Price.ID] = moment(item.Created)
			}
		}
	}
	return out
}

// NewOverage describes an overage subscription to create.
type NewOverage struct {
	// Key begins the idempotency key: within a day, calls with the same values create only one subscription.
	Key                  string
	CustomerID, TenantID string
	// PriceIDs are the prices of EnsureOveragePrice, of different meters and one currency; at most 20.
	PriceIDs []string
	// FirstPeriodEnd is in the future, at most a month ahead. Later periods are months with its day. Only usage after the creation counts.
	FirstPeriodEnd time.Time
	// AnchorDay is the day of the month, 29 to 31, of periods that end earlier in shorter months; 0 for the day of FirstPeriodEnd. With it,
	// FirstPeriodEnd is the next such day, which from the end of a short month is more than a month ahead.
	AnchorDay int
	// ByInvoice: invoices are sent, due after DaysUntilDue. Otherwise PaymentMethodID is charged; if that is empty, the customer's default.
	ByInvoice       bool
	DaysUntilDue    int
	PaymentMethodID string
	// AutomaticTax lets the processor compute taxes.
	AutomaticTax bool
}

// CreateOverageSubscription creates the subscription that charges a customer's overage, and returns its id. Its first invoice is of 0.
// A FirstPeriodEnd that the processor doesn't accept is a *Refusal.
func (c *Client) CreateOverageSubscription(ctx context.Context, n NewOverage) (id string, err error) {
	key := keyOf(n.Key, fmt.Sprint(n))
	asked := &stripe.SubscriptionParams{
		Params: params(ctx, "", key), Customer: new(n.CustomerID),
		Metadata: map[string]string{metaTenant: n.TenantID, metaKind: kindOverage}, ProrationBehavior: new("none"),
	}
	if n.AnchorDay == 0 {
		asked.BillingCycleAnchor = new(n.FirstPeriodEnd.Unix())
	} else {
		end := n.FirstPeriodEnd.UTC()
		asked.BillingCycleAnchorConfig = &stripe.SubscriptionBillingCycleAnchorConfigParams{
			DayOfMonth: new(int64(n.AnchorDay)), Hour: new(int64(end.Hour())), Minute: new(int64(end.Minute())), Second: new(int64(end.Second())),
		}
	}
	for _, price := range n.PriceIDs {
		asked.Items = append(asked.Items, &stripe.SubscriptionItemsParams{Price: new(price)})
	}
	if n.PaymentMethodID != "" {
		asked.DefaultPaymentMethod = new(n.PaymentMethodID)
	}
	if n.ByInvoice {
		asked.CollectionMethod = new(string(stripe.SubscriptionCollectionMethodSendInvoice))
		asked.DaysUntilDue = new(int64(n.DaysUntilDue))
	}
	if n.AutomaticTax {
		asked.AutomaticTax = &stripe.SubscriptionAutomaticTaxParams{Enabled: new(true)}
	}
	made, err := c.api.Subscriptions.New(asked)
	if err := c.failed(ctx, "create overage subscription", err, made.ID != ""); err != nil {
		return "", err
	}
	return made.ID, nil
}

// AddOveragePrice adds a price to an overage subscription. It does nothing if the subscription has it. In the present period only usage
// after the addition counts (docs.stripe.com/billing/subscriptions/usage-based/manage-billing-setup).
func (c *Client) AddOveragePrice(ctx context.Context, s OverageSubscription, priceID string) error {
	if slices.Contains(s.PriceIDs, priceID) {
		return nil
	}
	err := c.updateSubscription(ctx, "add price to overage subscription", s.ID, &stripe.SubscriptionParams{
		Items: []*stripe.SubscriptionItemsParams{{Price: new(priceID)}}, ProrationBehavior: new("none"),
	})
	// The processor refuses a second item with a price: an earlier call, whose answer was lost, may have added it.
	return c.unless(ctx, err, s.ID, func(now OverageSubscription) bool { return slices.Contains(now.PriceIDs, priceID) })
}

// FollowPayment lets an overage subscription be paid as the subscription to the plan is: by the same payment method or by invoices.
func (c *Client) FollowPayment(ctx context.Context, overageID string, s Subscription) error {
	method := stripe.SubscriptionCollectionMethodChargeAutomatically
	asked := &stripe.SubscriptionParams{DefaultPaymentMethod: new(s.PaymentMethodID)} // empty: the customer's default
	if s.ByInvoice {
		method = stripe.SubscriptionCollectionMethodSendInvoice
		asked.DaysUntilDue = new(int64(s.DaysUntilDue))
	}
	asked.CollectionMethod = new(string(method))
	return c.updateSubscription(ctx, "change payment of overage subscription", overageID, asked)
}

// EndOverageSubscription ends an overage subscription at once and invoices the usage of its present period. One that has ended stays
// as it is. The invoice has only usage that the processor has processed: see SumOverage.
func (c *Client) EndOverageSubscription(ctx context.Context, id string) error {
	got, err := c.api.Subscriptions.Cancel(id, &stripe.SubscriptionCancelParams{Params: params(ctx, "", ""), InvoiceNow: new(true)})
	err = c.failed(ctx, "end overage subscription", err, got.ID != "")
	return c.unless(ctx, err, id, func(now OverageSubscription) bool { return !now.EndedAt.IsZero() })
}

// unless returns nil instead of a refusal if the overage subscription is already as it should be. Otherwise it returns err.
func (c *Client) unless(ctx context.Context, err error, id string, done func(now OverageSubscription) bool) error {
	if _, refused := errors.AsType[*Refusal](err); !refused {
		return err
	}
	got, failure := c.api.Subscriptions.Get(id, &stripe.SubscriptionParams{Params: params(ctx, "", "")})
	failure = c.failed(ctx, "get overage subscription", failure, got.ID != "")
	if failure == nil && done(overageSubscription(got)) {
		return nil
	}
	if _, refused := errors.AsType[*Refusal](failure); failure != nil && !refused {
		return failure
	}
	return err
}

// overageName returns a name of the overage of a meter for invoices, such as "Egress above the included usage" for EGRESS_BYTES.
func overageName(meter string) string {
	words := strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(meter, "_BYTES"), "_", " "))
	if words == "" {
		return "Usage above the included usage"
	}
	return strings.ToUpper(words[:1]) + words[1:] + " above the included usage"
}
