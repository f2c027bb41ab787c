package sandbox

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
	sub.Metadata, sub.Text = c.metadata(), c.text("description")
	c.readCancellation(&sub)
	c.readCoupon(&sub)
	behavior := c.oneOf("payment_behavior", "allow_incomplete", "default_incomplete", "error_if_incomplete", "pending_if_incomplete")
	for _, f := range c.list("items") {
		sub.Items = append(sub.Items, c.readItem(f))
	}
	c.ignore("off_session", "payment_settings", "currency")
	a := c.readAnchor()
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
	if err := c.placeAnchor(&sub, a); err != nil {
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
	now := c.unix()
	sub.Currency, sub.PeriodStart = c.mainPrice(sub.Items).Currency, now
	if err := c.useCurrency(sub); err != nil {
		return sub, err
	}
	c.startDiscount(&sub)
	c.startPeriod(&sub)
	i := c.newInvoice(sub.CustomerID, &sub, "subscription_create")
	i.OneShot = !sub.SendsInvoice
	i.Lines = append(c.takePending(&i, sub.CustomerID, sub.ID), c.firstLines(sub)...)
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

// startPeriod begins the trial or the first period of a new subscription. placeAnchor may have set the period's end.
func (c *change) startPeriod(sub *Subscription) {
	now := c.unix()
	if sub.TrialEnd > now {
		sub.Status, sub.TrialStart, sub.PeriodEnd, sub.Anchor = Trialing, now, sub.TrialEnd, sub.TrialEnd
		return
	}
	sub.Status, sub.TrialEnd, sub.ExpiresAt = Incomplete, 0, now+incompleteTime
	if sub.PeriodEnd == 0 {
		sub.Anchor, sub.PeriodEnd = now, c.mainPrice(sub.Items).after(now, 1)
	}
}

// firstLines returns the lines of the first period. The time until an anchor is free, because there are no prorations.
func (c *change) firstLines(sub Subscription) []InvoiceLine {
	lines := c.periodLines(sub)
	if sub.Anchor != c.unix() {
		for n := range lines {
			lines[n].Cents = 0
		}
	}
	return lines
}

// useCurrency keeps the currency of the customer's first subscription. It refuses another one while something in the former is left.
func (c *change) useCurrency(sub Subscription) error {
	u := c.customers.rows[sub.CustomerID]
	switch {
	case u.Currency == sub.Currency:
	case u.Currency == "", !c.usesCurrency(u):
		u.Currency = sub.Currency
		c.set(billingRecord{Customer: &u})
	default:
		return refuse("", "", "You cannot combine currencies on a single customer. This customer has an active subscription, subscription "+
			"schedule, discount, quote, or invoice item with currency %s", u.Currency)
	}
	return nil
}

// usesCurrency reports whether a customer has a subscription, an open invoice, a pending item or a balance in its currency.
func (c *change) usesCurrency(u Customer) bool {
	return u.BalanceCents != 0 ||
		len(c.subscriptions.newest(func(sub Subscription) bool {
			return sub.CustomerID == u.ID && sub.Currency == u.Currency && !sub.ended()
		})) > 0 ||
		len(c.invoices.newest(func(i Invoice) bool {
			return i.CustomerID == u.ID && i.Currency == u.Currency && (i.Status == Draft || i.Status == StatusOpen)
		})) > 0 ||
		len(c.pending.newest(func(p PendingItem) bool { return p.CustomerID == u.ID && p.Currency == u.Currency })) > 0
}

// keepsCurrency refuses items in another currency than the subscription's, which can't change.
func (c *change) keepsCurrency(sub Subscription, items []Item) error {
	for _, item := range items {
		if p := c.prices[item.PriceID]; p.Currency != sub.Currency {
			return refuse("", "", "The price specified only supports `%s`. This doesn't match the expected currency: `%s`.",
				p.Currency, sub.Currency)
		}
	}
	return nil
}

// warn emits customer.subscription.trial_will_end.
func (c *change) warn(sub Subscription) {
	sub = c.subscriptions.rows[sub.ID]
	sub.Warned = true
	c.set(billingRecord{Subscription: &sub})
	c.report("customer.subscription.trial_will_end", c.renderSubscription(sub))
}
