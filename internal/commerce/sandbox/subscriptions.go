//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"slices"
)

// Item is an item of a subscription.
type Item struct {
	ID       string            `json:"id"`
	Created  int64             `json:"created"`
	PriceID  string            `json:"priceId"`
	Quantity int64             `json:"quantity"`
	Metadata map[string]string `json:"metadata"`
	// Since is when an update added the item or changed its price: earlier usage isn't billed. 0 for an item from the start.
	Since int64 `json:"since,omitempty"`
}

// Subscription is a customer's subscription. Times are Unix seconds, 0 for none.
type Subscription struct {
	ID         string            `json:"id"`
	Seq        uint64            `json:"seq"`
	Created    int64             `json:"created"`
	CustomerID string            `json:"customerId"`
	Status     string            `json:"status"`
	Currency   string            `json:"currency"`
	Text       string            `json:"description"`
	Items      []Item            `json:"items"`
	Metadata   map[string]string `json:"metadata"`
	// SendsInvoice: the customer pays an invoice within DaysUntilDue days, and no card is charged.
	SendsInvoice bool   `json:"sendsInvoice"`
	DaysUntilDue int64  `json:"daysUntilDue"`
	DefaultCard  string `json:"defaultCard"`
	Tax          bool   `json:"tax"`
	TrialStart   int64  `json:"trialStart"`
	TrialEnd     int64  `json:"trialEnd"`
	// WithoutCard is what happens at a trial's end without a card: create_invoice, cancel or pause.
	WithoutCard string `json:"withoutCard"`
	// Warned: trial_will_end was sent.
	Warned bool `json:"warned"`
	// Anchor is the time from which the periods are counted.
	Anchor            int64  `json:"anchor"`
	PeriodStart       int64  `json:"periodStart"`
	PeriodEnd         int64  `json:"periodEnd"`
	CancelAtPeriodEnd bool   `json:"cancelAtPeriodEnd"`
	CancelAt          int64  `json:"cancelAt"`
	CanceledAt        int64  `json:"canceledAt"`
	EndedAt           int64  `json:"endedAt"`
	CancelReason      string `json:"cancelReason"`
	CancelComment     string `json:"cancelComment"`
	CancelFeedback    string `json:"cancelFeedback"`
	// Pause is the behavior of pause_collection, "" if invoices are collected.
	Pause     string `json:"pause"`
	ResumesAt int64  `json:"resumesAt"`
	// ExpiresAt is when an incomplete subscription ends.
	ExpiresAt int64  `json:"expiresAt"`
	InvoiceID string `json:"invoiceId"`
	// Closing are the items of the period that ends now, if a schedule has replaced them: the renewal bills their usage.
	Closing    []Item `json:"closing,omitempty"`
	ScheduleID string `json:"scheduleId"`
	// CouponID is the discount until DiscountEnd; 0 forever.
	CouponID      string         `json:"couponId"`
	CodeID        string         `json:"codeId"`
	DiscountStart int64          `json:"discountStart"`
	DiscountEnd   int64          `json:"discountEnd"`
	Pending       *PendingUpdate `json:"pending,omitempty"`
}

// PendingUpdate is a change of a subscription that waits for the payment of its invoice.
type PendingUpdate struct {
	ExpiresAt int64  `json:"expiresAt"`
	InvoiceID string `json:"invoiceId"`
	Items     []Item `json:"items"`
	// Restarts: a new period begins with the payment.
	Restarts bool  `json:"restarts"`
	Anchor   int64 `json:"anchor"`
}

// States of a Subscription. Unpaid and Paid are among the payment's states.
const (
	Incomplete        = "incomplete"
	IncompleteExpired = "incomplete_expired"
	Trialing          = "trialing"
	Active            = "active"
	PastDue           = "past_due"
	Paused            = "paused"
	Canceled          = "canceled"
)

const (
	hour = 60 * 60
	day  = 24 * hour
	// incompleteTime is the life of an incomplete subscription and of a pending update, in seconds.
	incompleteTime = 23 * hour
	// trialWarning is the time between trial_will_end and the trial's end, in seconds.
	trialWarning = 3 * day
	// maxItems is the processor's limit of a subscription's items.
	maxItems = 20
)

func subscriptionRoutes() map[string]func(*call) (any, error) {
	return map[string]func(*call) (any, error){
		"POST /v1/subscriptions":             createSubscription,
		"GET /v1/subscriptions":              listSubscriptions,
		"GET /v1/subscriptions/{id}":         getSubscription,
		"POST /v1/subscriptions/{id}":        updateSubscription,
		"DELETE /v1/subscriptions/{id}":      cancelSubscription,
		"POST /v1/subscriptions/{id}/resume": resumeSubscription,
	}
}

// ended reports whether the subscription's state is final.
func (sub Subscription) ended() bool {
	return sub.Status == Canceled || sub.Status == IncompleteExpired
}

// mainPrice is the price whose period is the subscription's.
func (c *change) mainPrice(items []Item) Price {
	if len(items) == 0 {
		return Price{}
	}
	return c.prices[items[0].PriceID]
}

// recurring is the amount of one period of the licensed items.
func (c *change) recurring(items []Item) int64 {
	sum := int64(0)
	for _, item := range items {
		if p := c.prices[item.PriceID]; !p.Metered {
			sum += p.cents(item.Quantity)
		}
	}
	return sum
}

func (c *change) hasMetered(items []Item) bool {
	return slices.ContainsFunc(items, func(item Item) bool { return c.prices[item.PriceID].Metered })
}

// cardOf returns the id of the card that a subscription's invoices are charged to; "" for none.
func (c *change) cardOf(sub Subscription) string {
	if sub.DefaultCard != "" {
		return sub.DefaultCard
	}
	return c.customers.rows[sub.CustomerID].DefaultCard
}

// update changes the stored subscription and emits customer.subscription.updated.
func (c *change) update(sub Subscription, f func(sub *Subscription)) Subscription {
	sub = c.subscriptions.rows[sub.ID]
	before := c.renderSubscription(sub)
	f(&sub)
	c.set(billingRecord{Subscription: &sub})
	c.reportUpdate("customer.subscription.updated", before, c.renderSubscription(sub))
	return sub
}

// checkItems checks what the items of a subscription must have in common.
func (c *change) checkItems(items []Item) error {
	if len(items) == 0 {
		return invalid("", "items", "A subscription must have at least one active item.")
	}
	if len(items) > maxItems {
		return invalid("", "items", "A subscription can have at most %d items.", maxItems)
	}
	main, seen := c.mainPrice(items), map[string]bool{}
	for _, item := range items {
		p := c.prices[item.PriceID]
		switch {
		case p.Currency != main.Currency:
			return invalid("", "items", "The price currencies must match: all items must use %s.", main.Currency)
		case p.Interval != main.Interval || p.Every != main.Every:
			return invalid("", "items", "All prices on a subscription must have the same `recurring.interval` and `recurring.interval_count`.")
		case seen[p.ID]:
			return invalid("", "items", "Cannot add multiple subscription items with the same price: %s", p.ID)
		}
		seen[p.ID] = true
	}
	return nil
}

// subscription returns the subscription of the path.
func (c *call) subscription() (Subscription, error) {
	id := c.r.PathValue("id")
	sub, known := c.subscriptions.rows[id]
	if !known {
		return sub, none("subscription", id, "id")
	}
	return sub, nil
}

func getSubscription(c *call) (any, error) {
	if err := c.done(); err != nil {
		return nil, err
	}
	sub, err := c.subscription()
	if err != nil {
		return nil, err
	}
	return c.renderSubscription(sub), nil
}

func listSubscriptions(c *call) (any, error) {
	customer, price := c.listedCustomer(), c.text("price")
	status := c.oneOf("status", "", "all", "ended", Active, Canceled, Incomplete, IncompleteExpired, PastDue, Paused, Trialing, Unpaid)
	return pageOf(c, &c.subscriptions, func(sub Subscription) bool {
		switch {
		case customer != "" && sub.CustomerID != customer:
			return false
		case price != "" && !slices.ContainsFunc(sub.Items, func(item Item) bool { return item.PriceID == price }):
			return false
		case status == "":
			return sub.Status != Canceled
		case status == "ended":
			return sub.ended()
		default:
			return status == "all" || sub.Status == status
		}
	}, func(sub Subscription) string { return sub.ID }, func(sub Subscription) int64 { return sub.Created },
		func(sub Subscription) any { return c.renderSubscription(sub) })
}

func (c *change) renderItem(sub Subscription, item Item) object {
	rendered := object{
		"id": item.ID, "object": "subscription_item", "created": item.Created, "metadata": item.Metadata, "subscription": sub.ID,
		"price": c.prices[item.PriceID].render(), "quantity": item.Quantity, "tax_rates": []any{},
	}
	if c.prices[item.PriceID].Metered {
		delete(rendered, "quantity")
	}
	return rendered
}

func (c *change) renderItems(sub Subscription, items []Item) []any {
	list := []any{}
	for _, item := range items {
		list = append(list, c.renderItem(sub, item))
	}
	return list
}

func (c *change) renderSubscription(sub Subscription) object {
	method, ends := "charge_automatically", sub.CancelAt
	if sub.SendsInvoice {
		method = "send_invoice"
	}
	if sub.CancelAtPeriodEnd {
		ends = sub.PeriodEnd
	}
	var pause, update any
	if sub.Pause != "" {
		pause = object{"behavior": sub.Pause, "resumes_at": nullable(sub.ResumesAt)}
	}
	if sub.Pending != nil {
		update = object{
			"expires_at": sub.Pending.ExpiresAt, "billing_cycle_anchor": nullable(sub.Pending.Anchor), "trial_end": nil,
			"subscription_items": c.renderItems(sub, sub.Pending.Items), "trial_from_plan": nil,
		}
	}
	return object{
		"id": sub.ID, "object": "subscription", "created": sub.Created, "livemode": false, "status": sub.Status, "currency": sub.Currency,
		"customer": sub.CustomerID, "metadata": sub.Metadata, "collection_method": method, "days_until_due": nullable(sub.DaysUntilDue),
		"automatic_tax": object{"enabled": sub.Tax}, "billing_cycle_anchor": sub.Anchor, "start_date": sub.Created,
		"current_period_start": sub.PeriodStart, "current_period_end": sub.PeriodEnd, "cancel_at": nullable(ends),
		"cancel_at_period_end": sub.CancelAtPeriodEnd, "canceled_at": nullable(sub.CanceledAt), "ended_at": nullable(sub.EndedAt),
		"cancellation_details": object{
			"comment": nullable(sub.CancelComment), "feedback": nullable(sub.CancelFeedback), "reason": nullable(sub.CancelReason),
		},
		"default_payment_method": nullable(sub.DefaultCard), "default_source": nil,
		"description": nullable(sub.Text), "discount": c.renderDiscount(sub),
		"items":          whole("/v1/subscription_items?subscription="+sub.ID, c.renderItems(sub, sub.Items)),
		"latest_invoice": nullable(sub.InvoiceID), "pause_collection": pause, "pending_update": update, "pending_setup_intent": nil,
		"schedule": nullable(sub.ScheduleID), "trial_start": nullable(sub.TrialStart), "trial_end": nullable(sub.TrialEnd),
		"trial_settings":    object{"end_behavior": object{"missing_payment_method": sub.WithoutCard}},
		"default_tax_rates": []any{}, "application_fee_percent": nil, "billing_thresholds": nil,
	}
}
