package processor

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/stripe/stripe-go/v76"
)

// Price is what a subscription costs in each interval.
type Price struct {
	// ProductID is the product of a plan.
	ProductID string
	UnitCents int64
	// Currency is in lower case.
	Currency string
	// Yearly is for a price by the year; otherwise it is by the month.
	Yearly bool
}

// Subscription is a customer's subscription as the processor knows it.
type Subscription struct {
	ID string
	// Status is the processor's own: incomplete, incomplete_expired, trialing, active, past_due, canceled, unpaid or paused.
	Status string
	Price
	// ItemID is the item with the price of the plan.
	ItemID string
	// ByInvoice: invoices are sent, due after DaysUntilDue. Otherwise the card is charged.
	ByInvoice    bool
	DaysUntilDue int
	// PaymentMethodID is empty if the customer's default is charged.
	PaymentMethodID string

	CreatedAt   time.Time
	PeriodStart time.Time
	PeriodEnd   time.Time
	// AnchorDay is the day of the month, 29 to 31, on which periods begin, in shorter months on the last one; 0 for earlier days.
	AnchorDay int
	// TrialEnd, CanceledAt and EndedAt are zero if there is none.
	TrialEnd, CanceledAt, EndedAt time.Time
	CancelAtPeriodEnd             bool
	// CollectionPaused: its invoices are voided instead of collected.
	CollectionPaused bool
	// ScheduleID is the schedule with Next; empty if there is none.
	ScheduleID string
	// Next is the change that SchedulePrice has scheduled; nil if there is none.
	Next *ScheduledChange
	// UpdateAwaitsPayment: a change of the price takes effect when its invoice is paid.
	UpdateAwaitsPayment bool
	// Discount is the subscription's own one; nil if there is none.
	Discount *Discount
	// PaymentURL is the page of the newest invoice if that is open; otherwise empty.
	PaymentURL string
}

// Discount takes a part off the invoices of a subscription.
type Discount struct {
	CouponID string
	// Percent is from 0 to 100; 0 if AmountCents is taken off.
	Percent float64
	// AmountCents is taken off each invoice in Currency, which is in lower case.
	AmountCents int64
	Currency    string
	// Once: only one invoice has the discount.
	Once bool
	// End is when the discount ends; zero if it doesn't.
	End time.Time
}

// OfPrice returns what the discount takes off a price at a time if the price is charged in each interval: nothing if the discount is for
// one invoice only, or has ended. A percentage is rounded to cents.
func (d *Discount) OfPrice(cents int64, currency string, now time.Time) int64 {
	switch {
	case d == nil, d.Once, !d.End.IsZero() && !now.Before(d.End):
		return 0
	case d.Percent > 0:
		return min(int64(math.Round(float64(cents)*d.Percent/100)), cents)
	case d.Currency == currency:
		return min(d.AmountCents, cents)
	default:
		return 0
	}
}

// ScheduledChange is a change of plan or interval.
type ScheduledChange struct {
	// Plan is the plan's tier.
	Plan   string
	Yearly bool
	// UnitCents is its price in each interval; 0 if a former version has scheduled it.
	UnitCents int64
	At        time.Time
}

// listSubscriptions fills Subscriptions, Overage and Complete.
func (c *Client) listSubscriptions(ctx context.Context, customerID string, s *CustomerState) error {
	asked := &stripe.SubscriptionListParams{ListParams: listParams(ctx, ""), Customer: new(customerID), Status: new("all")}
	asked.Single = true
	asked.AddExpand("data.schedule")
	asked.AddExpand("data.latest_invoice")
	list := c.api.Subscriptions.List(asked)
	for list.Next() {
		if got := list.Subscription(); isOverage(got.Metadata) {
			s.Overage = append(s.Overage, overageSubscription(got))
		} else {
			s.Subscriptions = append(s.Subscriptions, subscription(got))
		}
	}
	err := c.failed(ctx, "list subscriptions", list.Err(), list.SubscriptionList().Data != nil)
	s.Complete = err == nil && !list.SubscriptionList().HasMore
	return err
}

// paymentMethod returns the id of the payment method that a subscription is charged to; empty for the customer's default.
func paymentMethod(s *stripe.Subscription) string {
	if s.DefaultPaymentMethod == nil {
		return ""
	}
	return s.DefaultPaymentMethod.ID
}

// paymentURL returns the page of the newest invoice if that is open; otherwise it is empty.
func paymentURL(s *stripe.Subscription) string {
	if s.LatestInvoice == nil || s.LatestInvoice.Status != stripe.InvoiceStatusOpen {
		return ""
	}
	return s.LatestInvoice.HostedInvoiceURL
}

func subscription(s *stripe.Subscription) Subscription {
	out := Subscription{
		ID: s.ID, Status: string(s.Status), ByInvoice: s.CollectionMethod == stripe.SubscriptionCollectionMethodSendInvoice,
		DaysUntilDue: int(s.DaysUntilDue), PaymentMethodID: paymentMethod(s), PaymentURL: paymentURL(s),
		CreatedAt: moment(s.Created), PeriodStart: moment(s.CurrentPeriodStart), PeriodEnd: moment(s.CurrentPeriodEnd),
		TrialEnd: moment(s.TrialEnd), CanceledAt: moment(s.CanceledAt), EndedAt: moment(s.EndedAt),
		CancelAtPeriodEnd: s.CancelAtPeriodEnd, CollectionPaused: s.PauseCollection != nil && s.PauseCollection.Behavior != "",
		UpdateAwaitsPayment: s.PendingUpdate != nil && s.PendingUpdate.ExpiresAt > 0,
	}
	if day := moment(s.BillingCycleAnchor).Day(); day > 28 {
		out.AnchorDay = day
	}
	if s.Items != nil {
		for _, item := range s.Items.Data {
			if p, ok := price(item.Price); ok {
				out.ItemID, out.Price = item.ID, p
				break
			}
		}
	}
	out.Discount = discount(s.Discount)
	if s.Schedule != nil && s.Schedule.ID != "" {
		out.ScheduleID = s.Schedule.ID
		out.Next = nextPhase(s.Schedule, s.CurrentPeriodStart)
	}
	return out
}

func discount(d *stripe.Discount) *Discount {
	if d == nil || d.Coupon == nil {
		return nil
	}
	return &Discount{
		CouponID: d.Coupon.ID, Percent: d.Coupon.PercentOff, AmountCents: d.Coupon.AmountOff, Currency: string(d.Coupon.Currency),
		Once: d.Coupon.Duration == stripe.CouponDurationOnce, End: moment(d.End),
	}
}

// nextPhase returns the first change after the current period's start. Prices of phases can't be read together with a
// subscription, so SchedulePrice adds labels.
func nextPhase(s *stripe.SubscriptionSchedule, since int64) *ScheduledChange {
	for _, phase := range s.Phases {
		if plan := phase.Metadata[metaPlan]; phase.StartDate > since && plan != "" {
			yearly := phase.Metadata[metaInterval] == string(stripe.PriceRecurringIntervalYear)
			cents, _ := strconv.ParseInt(phase.Metadata[metaCents], 10, 64) // 0 without the label
			return &ScheduledChange{Plan: plan, Yearly: yearly, UnitCents: cents, At: moment(phase.StartDate)}
		}
	}
	return nil
}

// price returns the recurring price of a licensed item; ok is false for others.
func price(p *stripe.Price) (out Price, ok bool) {
	if p == nil || p.Product == nil || p.Recurring == nil || p.Recurring.UsageType == stripe.PriceRecurringUsageTypeMetered {
		return out, false
	}
	return Price{
		ProductID: p.Product.ID, UnitCents: p.UnitAmount, Currency: string(p.Currency),
		Yearly: p.Recurring.Interval == stripe.PriceRecurringIntervalYear,
	}, true
}

// moment returns the time of a Unix timestamp; zero for 0.
func moment(unix int64) time.Time {
	if unix == 0 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

// interval returns the processor's name.
func (p Price) interval() string {
	if p.Yearly {
		return string(stripe.PriceRecurringIntervalYear)
	}
	return string(stripe.PriceRecurringIntervalMonth)
}

func (p Price) params() *stripe.SubscriptionItemPriceDataParams {
	return &stripe.SubscriptionItemPriceDataParams{
		Product: new(p.ProductID), UnitAmount: new(p.UnitCents), Currency: new(p.Currency),
		Recurring: &stripe.SubscriptionItemPriceDataRecurringParams{Interval: new(p.interval())},
	}
}

// updateSubscription makes one change of a subscription.
func (c *Client) updateSubscription(ctx context.Context, doing, id string, asked *stripe.SubscriptionParams) error {
	asked.Context = ctx
	got, err := c.api.Subscriptions.Update(id, asked)
	return c.failed(ctx, doing, err, got.ID != "")
}

// Settlement says how a change of the price is paid.
type Settlement int

const (
	// PayAtOnce charges the difference at once. The change takes effect when that is paid, at the latest after 23 hours.
	PayAtOnce Settlement = iota
	// PayWithNext adds the difference to the next invoice. The change takes effect at once.
	PayWithNext
	// PayNothing is for changes within a trial.
	PayNothing
)

// ChangePrice changes the price of a subscription.
func (c *Client) ChangePrice(ctx context.Context, s Subscription, to Price, how Settlement) error {
	asked := &stripe.SubscriptionParams{Items: []*stripe.SubscriptionItemsParams{{ID: new(s.ItemID), PriceData: to.params()}}}
	switch how {
	case PayAtOnce:
		asked.ProrationBehavior, asked.PaymentBehavior = new("always_invoice"), new("pending_if_incomplete")
	case PayWithNext:
		asked.ProrationBehavior = new("create_prorations")
	case PayNothing:
		asked.ProrationBehavior = new("none")
	}
	return c.updateSubscription(ctx, "change price of subscription", s.ID, asked)
}

// SchedulePrice changes the price of a subscription to that of a plan when its paid period ends. It can be repeated.
func (c *Client) SchedulePrice(ctx context.Context, s Subscription, plan string, to Price) error {
	id := s.ScheduleID
	if id == "" {
		made, err := c.api.SubscriptionSchedules.New(&stripe.SubscriptionScheduleParams{Params: params(ctx, "", ""), FromSubscription: new(s.ID)})
		if err := c.failed(ctx, "create schedule of subscription", err, made.ID != ""); err != nil {
			return err
		}
		id = made.ID
	}
	phase := func(p Price) *stripe.SubscriptionSchedulePhaseParams {
		asked := &stripe.SubscriptionSchedulePhaseParams{
			Items:             []*stripe.SubscriptionSchedulePhaseItemParams{{PriceData: p.params(), Quantity: new(int64(1))}},
			ProrationBehavior: new("none"),
		}
		if s.Discount != nil { // or the phases would have no discount
			asked.Coupon = new(s.Discount.CouponID)
		}
		return asked
	}
	now, next := phase(s.Price), phase(to)
	now.StartDate, now.EndDate, next.Iterations = new(s.PeriodStart.Unix()), new(s.PeriodEnd.Unix()), new(int64(1))
	next.Metadata = map[string]string{metaPlan: plan, metaInterval: to.interval(), metaCents: strconv.FormatInt(to.UnitCents, 10)}
	got, err := c.api.SubscriptionSchedules.Update(id, &stripe.SubscriptionScheduleParams{
		Params: params(ctx, "", ""), EndBehavior: new(string(stripe.SubscriptionScheduleEndBehaviorRelease)),
		Phases: []*stripe.SubscriptionSchedulePhaseParams{now, next},
	})
	return c.failed(ctx, "update schedule of subscription", err, got.ID != "")
}

// ReleaseSchedule withdraws the scheduled change of a subscription. Without a schedule it does nothing.
func (c *Client) ReleaseSchedule(ctx context.Context, s Subscription) error {
	if s.ScheduleID == "" {
		return nil
	}
	got, err := c.api.SubscriptionSchedules.Release(s.ScheduleID, &stripe.SubscriptionScheduleReleaseParams{Params: params(ctx, "", "")})
	return c.failed(ctx, "release schedule of subscription", err, got.ID != "")
}

// SetCancelAtPeriodEnd lets a subscription end with its paid period, or continue.
func (c *Client) SetCancelAtPeriodEnd(ctx context.Context, subscriptionID string, cancel bool) error {
	return c.updateSubscription(ctx, "cancel subscription at the period's end", subscriptionID, &stripe.SubscriptionParams{
		CancelAtPeriodEnd: new(cancel),
	})
}

// CancelSubscription ends a subscription at once. With credit, the unused part of the paid period is credited to the customer.
func (c *Client) CancelSubscription(ctx context.Context, subscriptionID string, credit bool) error {
	asked := &stripe.SubscriptionCancelParams{Params: params(ctx, "", "")}
	if credit {
		asked.Prorate, asked.InvoiceNow = new(true), new(true)
	}
	got, err := c.api.Subscriptions.Cancel(subscriptionID, asked)
	return c.failed(ctx, "cancel subscription", err, got.ID != "")
}

// PauseCollection stops the collection of payments: invoices are voided until ResumeCollection.
func (c *Client) PauseCollection(ctx context.Context, subscriptionID string) error {
	return c.updateSubscription(ctx, "pause subscription", subscriptionID, &stripe.SubscriptionParams{
		PauseCollection: &stripe.SubscriptionPauseCollectionParams{Behavior: new(string(stripe.SubscriptionPauseCollectionBehaviorVoid))},
	})
}

// ResumeSubscription continues a paused subscription: with a new period that begins now, or else in its present one, which is paid.
func (c *Client) ResumeSubscription(ctx context.Context, s Subscription, newPeriod bool) error {
	if s.Status == string(stripe.SubscriptionStatusPaused) {
		got, err := c.api.Subscriptions.Resume(s.ID, &stripe.SubscriptionResumeParams{
			Params: params(ctx, "", ""), BillingCycleAnchor: new("now"), ProrationBehavior: new("none"),
		})
		return c.failed(ctx, "resume subscription", err, got.ID != "")
	}
	asked := &stripe.SubscriptionParams{ProrationBehavior: new("none")}
	asked.AddExtra("pause_collection", "") // the library can't send an empty value for it
	if newPeriod && s.Status != string(stripe.SubscriptionStatusTrialing) {
		asked.BillingCycleAnchorNow = new(true)
	}
	return c.updateSubscription(ctx, "resume subscription", s.ID, asked)
}

// SetTrialEnd postpones the end of a trial, and with it the first charge.
func (c *Client) SetTrialEnd(ctx context.Context, subscriptionID string, end time.Time) error {
	return c.updateSubscription(ctx, "extend trial", subscriptionID, &stripe.SubscriptionParams{
		TrialEnd: new(end.Unix()), ProrationBehavior: new("none"),
	})
}

// SendInvoices lets a subscription be paid by invoices at a price, from the next period on. The difference for the current one is
// on the next invoice.
func (c *Client) SendInvoices(ctx context.Context, s Subscription, to Price, daysUntilDue int) error {
	return c.updateSubscription(ctx, "change subscription to invoices", s.ID, &stripe.SubscriptionParams{
		Items:             []*stripe.SubscriptionItemsParams{{ID: new(s.ItemID), PriceData: to.params()}},
		ProrationBehavior: new("create_prorations"),
		CollectionMethod:  new(string(stripe.SubscriptionCollectionMethodSendInvoice)), DaysUntilDue: new(int64(daysUntilDue)),
	})
}

// CreateInvoicedSubscription creates a subscription that is paid by invoices, with taxes if they are computed. Repeated calls with the
// same key within a day create only one.
func (c *Client) CreateInvoicedSubscription(
	ctx context.Context, key, customerID, tenantID string, p Price, daysUntilDue int, automaticTax bool,
) error {
	asked := &stripe.SubscriptionParams{
		Params: params(ctx, "", key), Customer: new(customerID), Metadata: map[string]string{metaTenant: tenantID},
		Items:            []*stripe.SubscriptionItemsParams{{PriceData: p.params()}},
		CollectionMethod: new(string(stripe.SubscriptionCollectionMethodSendInvoice)), DaysUntilDue: new(int64(daysUntilDue)),
	}
	if automaticTax {
		asked.AutomaticTax = &stripe.SubscriptionAutomaticTaxParams{Enabled: new(true)}
	}
	made, err := c.api.Subscriptions.New(asked)
	return c.failed(ctx, "create subscription", err, made.ID != "")
}
