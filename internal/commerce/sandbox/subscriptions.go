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
}

// Subscription is a customer's subscription. Times are Unix seconds, 0 for none.
type Subscription struct {
	ID         string            `json:"id"`
	Seq        uint64            `json:"seq"`
	Created    int64             `json:"created"`
	CustomerID string            `json:"customerId"`
	Status     string            `json:"status"`
	Currency   string            `json:"currency"`
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
	ExpiresAt  int64  `json:"expiresAt"`
	InvoiceID  string `json:"invoiceId"`
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
	ExpiresAt   int64  `json:"expiresAt"`
	InvoiceID   string `json:"invoiceId"`
	Items       []Item `json:"items"`
	Anchor      int64  `json:"anchor"`
	PeriodStart int64  `json:"periodStart"`
	PeriodEnd   int64  `json:"periodEnd"`
	TrialEnd    int64  `json:"trialEnd"`
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

// readPrice returns the price of an item: an existing recurring one, or a new one from price_data.
func (c *call) readPrice(f form) Price {
	id := f.text("price")
	if (id == "") == !f.has("price_data") {
		f.fail(invalid("", f.prefix, "You must specify either `price` or `price_data` for each item."))
		return Price{}
	}
	if id == "" {
		data := f.at("price_data")
		p := data.price(c)
		p.ProductID = data.must("product")
		if product, known := c.products[p.ProductID]; !known || product.Account != "" {
			f.fail(none("product", p.ProductID, data.key("product")))
		}
		if *c.fault == nil {
			c.put(record{Price: &p})
		}
		return c.checkRecurring(f, p)
	}
	p, known := c.prices[id]
	if !known || p.Account != "" {
		f.fail(none("price", id, f.key("price")))
		return Price{}
	}
	if p.Inactive {
		f.fail(refuse("", f.key("price"), "The price specified is inactive. This field only accepts active prices."))
	}
	return c.checkRecurring(f, p)
}

func (c *call) checkRecurring(f form, p Price) Price {
	if p.Interval == "" {
		f.fail(invalid("", f.key("price"), "The price specified is set to `type=one_time` but "+
			"this field only accepts prices with `type=recurring`."))
	}
	return p
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

// readItem reads the price, the quantity and the metadata of a new item.
func (c *call) readItem(f form) Item {
	p := c.readPrice(f)
	item := Item{ID: newID("si_"), Created: c.unix(), PriceID: p.ID, Quantity: f.amount("quantity", 0, 1), Metadata: f.metadata()}
	if p.Metered {
		if f.has("quantity") {
			f.fail(invalid("", f.key("quantity"), "You cannot set the quantity of a metered price."))
		}
		item.Quantity = 0
	}
	f.ignore("tax_rates", "billing_thresholds")
	return item
}

func createSubscription(c *call) (any, error) {
	sub := c.newSubscription(c.must("customer"))
	u, unknown := c.customer(sub.CustomerID, "customer")
	c.readCollection(&sub)
	sub.TrialEnd = c.readTrial(c.form, c.unix())
	c.readTrialSettings(c.form, &sub)
	sub.Metadata = c.metadata()
	c.readCancellation(&sub)
	c.readCoupon(&sub)
	behavior := c.oneOf("payment_behavior", "allow_incomplete", "default_incomplete", "error_if_incomplete", "pending_if_incomplete")
	for _, f := range c.list("items") {
		sub.Items = append(sub.Items, c.readItem(f))
	}
	c.ignore("description", "off_session", "payment_settings", "proration_behavior", "currency")
	if err := c.done(); err != nil {
		return nil, err
	}
	if unknown != nil {
		return nil, unknown
	}
	if err := c.checkItems(sub.Items); err != nil {
		return nil, err
	}
	if err := c.taxable(sub, u); err != nil {
		return nil, err
	}
	sub, err := c.begin(sub, behavior, nil)
	if err != nil {
		return nil, err
	}
	return c.renderSubscription(sub), nil
}

func (c *change) newSubscription(customerID string) Subscription {
	return Subscription{
		ID: newID("sub_"), Seq: c.next(), Created: c.unix(), CustomerID: customerID, WithoutCard: "create_invoice", Metadata: map[string]string{},
	}
}

// taxable checks that the tax's place is known.
func (c *change) taxable(sub Subscription, u Customer) error {
	if sub.Tax && u.Address["country"] == "" {
		return refuse("customer_tax_location_invalid", "automatic_tax[enabled]", "The customer's location isn't recognized. Set a valid "+
			"customer address in order to automatically calculate tax.")
	}
	return nil
}

// readCollection reads how the invoices are paid.
func (c *call) readCollection(sub *Subscription) {
	if c.has("collection_method") {
		sub.SendsInvoice = c.oneOf("collection_method", "charge_automatically", "send_invoice") == "send_invoice"
	}
	sub.DaysUntilDue = c.amount("days_until_due", 0, sub.DaysUntilDue)
	if sub.SendsInvoice && sub.DaysUntilDue == 0 && !c.has("days_until_due") {
		c.fail(missing("days_until_due"))
	}
	if !sub.SendsInvoice && c.has("days_until_due") {
		c.fail(invalid("", "days_until_due", "`days_until_due` can only be set if collection_method is `send_invoice`."))
	}
	if !sub.SendsInvoice {
		sub.DaysUntilDue = 0
	}
	if c.has("default_payment_method") {
		sub.DefaultCard = c.text("default_payment_method")
		if card, known := c.cards.rows[sub.DefaultCard]; sub.DefaultCard != "" && (!known || card.CustomerID != sub.CustomerID) {
			c.fail(none("PaymentMethod", sub.DefaultCard, "default_payment_method"))
		}
	}
	if f := c.at("automatic_tax"); f.has("enabled") {
		sub.Tax = f.flag("enabled")
	}
}

// readTrial returns the end of a trial that begins now, 0 for none.
func (c *call) readTrial(f form, now int64) int64 {
	days := f.amount("trial_period_days", 1, 0)
	switch v := f.text("trial_end"); {
	case v == "now":
		return 0
	case v != "":
		end := f.whole("trial_end", 0)
		if days > 0 {
			f.fail(invalid("", f.key("trial_end"), "You can not set both `trial_end` and `trial_period_days`."))
		}
		if end <= now {
			f.fail(invalid("", f.key("trial_end"), "Invalid timestamp: must be an integer Unix timestamp in the future."))
		}
		if end > now+730*day {
			f.fail(invalid("", f.key("trial_end"), "Invalid timestamp: can be no more than two years in the future."))
		}
		return end
	case days > 730:
		f.fail(invalid("", f.key("trial_period_days"), "The maximum number of trial period days is 730 (2 years)."))
	case days > 0:
		return now + days*day
	}
	return 0
}

func (c *call) readTrialSettings(f form, sub *Subscription) {
	if !f.has("trial_settings") {
		return
	}
	sub.WithoutCard = f.at("trial_settings").at("end_behavior").oneOf("missing_payment_method", "create_invoice", "cancel", "pause")
}

// readCancellation reads when the subscription ends by itself.
func (c *call) readCancellation(sub *Subscription) {
	sub.CancelAtPeriodEnd = c.flagOr("cancel_at_period_end", sub.CancelAtPeriodEnd)
	sub.CancelAt = c.whole("cancel_at", sub.CancelAt)
	if c.has("cancel_at") && c.text("cancel_at") == "" {
		sub.CancelAt = 0
	}
	if c.has("cancel_at") && sub.CancelAt != 0 && sub.CancelAt <= c.unix() {
		c.fail(invalid("", "cancel_at", "Invalid timestamp: must be an integer Unix timestamp in the future."))
	}
	c.readDetails(sub)
	switch {
	case sub.CancelAtPeriodEnd || sub.CancelAt > 0:
		if sub.CanceledAt == 0 {
			sub.CanceledAt, sub.CancelReason = c.unix(), "cancellation_requested"
		}
	default:
		sub.CanceledAt, sub.CancelReason = 0, ""
	}
}

func (c *call) readDetails(sub *Subscription) {
	if !c.has("cancellation_details") {
		return
	}
	f := c.at("cancellation_details")
	sub.CancelComment = f.textOr("comment", sub.CancelComment)
	sub.CancelFeedback = f.oneOf("feedback", sub.CancelFeedback, "", "customer_service", "low_quality", "missing_features", "other",
		"switched_service", "too_complex", "too_expensive", "unused")
}

// begin starts a subscription and makes its first invoice. card is charged while the buyer is present; nil charges the default card.
func (c *change) begin(sub Subscription, behavior string, card *Card) (Subscription, error) {
	now, main := c.unix(), c.mainPrice(sub.Items)
	sub.Currency, sub.PeriodStart = main.Currency, now
	if sub.CouponID != "" {
		c.startDiscount(&sub)
	}
	if sub.TrialEnd > now {
		sub.Status, sub.TrialStart, sub.PeriodEnd, sub.Anchor = Trialing, now, sub.TrialEnd, sub.TrialEnd
	} else {
		sub.Status, sub.TrialEnd, sub.Anchor, sub.PeriodEnd, sub.ExpiresAt = Incomplete, 0, now, main.after(now, 1), now+incompleteTime
	}
	i := c.newInvoice(sub.CustomerID, &sub, "subscription_create")
	i.OneShot = !sub.SendsInvoice
	i.Lines = append(c.takePending(&i, sub.CustomerID, sub.ID), c.periodLines(sub)...)
	c.compute(&i)
	due := max(0, i.TotalCents+c.customers.rows[sub.CustomerID].BalanceCents)
	if sub.Status == Incomplete && (sub.SendsInvoice || due == 0) {
		sub.Status = Active
	}
	if card == nil && due > 0 && !sub.SendsInvoice && behavior != "default_incomplete" && c.cardOf(sub) == "" {
		return sub, refuse("resource_missing", "", "This customer has no attached payment source or default payment method. Please "+
			"consider adding a default payment method. For more information, visit "+
			"https://stripe.com/docs/billing/subscriptions/payment-methods-setting#payment-method-priority.")
	}
	sub.InvoiceID = i.ID
	c.useCurrency(sub)
	c.set(billingRecord{Subscription: &sub})
	c.report("customer.subscription.created", c.renderSubscription(sub))
	if sub.Status == Trialing && sub.TrialEnd-now <= trialWarning {
		c.warn(sub)
	}
	c.set(billingRecord{Invoice: &i})
	c.report("invoice.created", c.renderInvoice(i))
	i = c.finalize(i)
	if i.Status == StatusOpen && !sub.SendsInvoice && behavior != "default_incomplete" {
		cardID, present := c.cardOf(sub), card != nil
		if present {
			cardID = card.ID
		}
		if err := c.attempt(i.ID, cardID, present, true); err != nil && (present || behavior == "error_if_incomplete") {
			return sub, err
		}
	}
	return c.subscriptions.rows[sub.ID], nil
}

// useCurrency keeps the currency of the customer's first subscription.
func (c *change) useCurrency(sub Subscription) {
	if u := c.customers.rows[sub.CustomerID]; u.Currency == "" {
		u.Currency = sub.Currency
		c.set(billingRecord{Customer: &u})
	}
}

// warn emits customer.subscription.trial_will_end.
func (c *change) warn(sub Subscription) {
	sub = c.subscriptions.rows[sub.ID]
	sub.Warned = true
	c.set(billingRecord{Subscription: &sub})
	c.report("customer.subscription.trial_will_end", c.renderSubscription(sub))
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
	customer, price := c.text("customer"), c.text("price")
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
			"expires_at": sub.Pending.ExpiresAt, "billing_cycle_anchor": nullable(sub.Pending.Anchor), "trial_end": nullable(sub.Pending.TrialEnd),
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
		"default_payment_method": nullable(sub.DefaultCard), "default_source": nil, "description": nil, "discount": c.renderDiscount(sub),
		"items":          whole("/v1/subscription_items?subscription="+sub.ID, c.renderItems(sub, sub.Items)),
		"latest_invoice": nullable(sub.InvoiceID), "pause_collection": pause, "pending_update": update, "pending_setup_intent": nil,
		"schedule": nullable(sub.ScheduleID), "trial_start": nullable(sub.TrialStart), "trial_end": nullable(sub.TrialEnd),
		"trial_settings":    object{"end_behavior": object{"missing_payment_method": sub.WithoutCard}},
		"default_tax_rates": []any{}, "application_fee_percent": nil, "billing_thresholds": nil,
	}
}
