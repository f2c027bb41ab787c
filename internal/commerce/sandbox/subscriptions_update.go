//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import "slices"

// subscriptionUpdate is what an update of a subscription asks for.
type subscriptionUpdate struct {
	items []Item
	// prorate is proration_behavior, payment is payment_behavior.
	prorate, payment string
	at               int64
	anchorNow        bool
	// trialEnd is 0 for no change, -1 for now.
	trialEnd int64
}

func updateSubscription(c *call) (any, error) {
	sub, err := c.subscription()
	if err != nil {
		return nil, err
	}
	before := sub
	u := c.readUpdate(sub)
	c.readPause(&sub)
	c.readCollection(&sub)
	c.readTrialSettings(c.form, &sub)
	sub.Metadata, sub.Text = c.merged(sub.Metadata), c.textOr("description", sub.Text)
	if c.has("cancel_at_period_end") || c.has("cancel_at") {
		if sub.ScheduleID != "" {
			c.fail(refuse("", "", "The subscription is managed by the subscription schedule `%s`, and updating any cancelation behavior "+
				"directly is not allowed. Please update the schedule instead.", sub.ScheduleID))
		}
		c.readCancellation(&sub)
	}
	c.readDetails(&sub)
	c.readCoupon(&sub)
	c.ignore("off_session", "payment_settings")
	if err := c.done(); err != nil {
		return nil, err
	}
	switch {
	case sub.ended() && slices.EqualFunc(u.items, before.Items, sameItem) && u.trialEnd == 0 && !u.anchorNow:
		// Only the metadata and the details of an ended subscription may change.
		ended := before
		ended.Metadata, ended.CancelComment, ended.CancelFeedback = sub.Metadata, sub.CancelComment, sub.CancelFeedback
		sub = ended
	case sub.ended():
		return nil, refuse("", "", "A canceled subscription can only update its cancellation_details and metadata.")
	}
	if err := c.checkItems(u.items); err != nil {
		return nil, err
	}
	if err := c.keepsCurrency(sub, u.items); err != nil {
		return nil, err
	}
	if sub.Tax && !before.Tax {
		if err := c.taxable(sub, c.customers.rows[sub.CustomerID]); err != nil {
			return nil, err
		}
	}
	if sub.CouponID != before.CouponID {
		c.startDiscount(&sub)
	}
	c.update(before, func(s *Subscription) { *s = sub })
	if err := c.changeItems(c.subscriptions.rows[sub.ID], u); err != nil {
		return nil, err
	}
	return c.renderSubscription(c.subscriptions.rows[sub.ID]), nil
}

// readUpdate reads items, trial and anchor, and how they are prorated and paid.
func (c *call) readUpdate(sub Subscription) subscriptionUpdate {
	u := subscriptionUpdate{
		items: c.readItems(sub), prorate: c.oneOf("proration_behavior", "create_prorations", "always_invoice", "none"),
		payment: c.oneOf("payment_behavior", "allow_incomplete", "pending_if_incomplete", "error_if_incomplete", "default_incomplete"),
		at:      c.whole("proration_date", c.unix()), anchorNow: c.oneOf("billing_cycle_anchor", "unchanged", "now") == "now",
	}
	if c.has("trial_end") {
		if u.trialEnd = c.readTrial(c.form, c.unix()); u.trialEnd == 0 && sub.Status == Trialing {
			u.trialEnd = -1
		}
	}
	if c.has("proration_date") && (u.at < sub.PeriodStart || u.at > sub.PeriodEnd) {
		c.fail(invalid("", "proration_date", "Invalid `proration_date`: must be within the current period."))
	}
	if u.payment == "pending_if_incomplete" {
		for _, name := range []string{
			"metadata", "cancel_at_period_end", "cancel_at", "collection_method", "days_until_due", "default_payment_method", "pause_collection",
			"automatic_tax", "coupon", "cancellation_details", "trial_settings",
		} {
			if c.has(name) {
				c.fail(invalid("", name, "`%s` cannot be updated along with `payment_behavior=pending_if_incomplete`.", name))
			}
		}
	}
	return u
}

// readItems returns the items after the update.
func (c *call) readItems(sub Subscription) []Item {
	items := slices.Clone(sub.Items)
	for _, f := range c.list("items") {
		id, deleted := f.text("id"), f.flag("deleted")
		f.ignore("clear_usage")
		if id == "" {
			items = append(items, c.readItem(f))
			continue
		}
		n := slices.IndexFunc(items, func(item Item) bool { return item.ID == id })
		if n < 0 {
			f.fail(none("subscription item", id, f.key("id")))
			continue
		}
		if deleted {
			items = slices.Delete(items, n, n+1)
			continue
		}
		if f.has("price") || f.has("price_data") {
			items[n].PriceID = c.readPrice(f).ID
		}
		items[n].Quantity, items[n].Metadata = f.amount("quantity", 0, items[n].Quantity), f.merged(items[n].Metadata)
		switch metered := c.prices[items[n].PriceID].Metered; {
		case metered:
			items[n].Quantity = 0
		case c.prices[itemPrice(sub, id)].Metered && !f.has("quantity"):
			items[n].Quantity = 1
		}
	}
	return items
}

func itemPrice(sub Subscription, itemID string) string {
	for _, item := range sub.Items {
		if item.ID == itemID {
			return item.PriceID
		}
	}
	return ""
}

// readPause reads pause_collection; an empty value clears it.
func (c *call) readPause(sub *Subscription) {
	if !c.has("pause_collection") {
		return
	}
	if c.values.Has("pause_collection") {
		c.read["pause_collection"] = true
		sub.Pause, sub.ResumesAt = "", 0
		return
	}
	f := c.at("pause_collection")
	sub.Pause, sub.ResumesAt = f.oneOf("behavior", "", "keep_as_draft", "mark_uncollectible", Void), f.whole("resumes_at", 0)
	if sub.Pause == "" {
		c.fail(missing("pause_collection[behavior]"))
	}
	if sub.ResumesAt != 0 && sub.ResumesAt <= c.unix() {
		c.fail(invalid("", "pause_collection[resumes_at]", "Invalid timestamp: must be an integer Unix timestamp in the future."))
	}
}

// changeItems changes items, trial and anchor of a subscription, with prorations and the invoice that they need now.
func (c *change) changeItems(sub Subscription, u subscriptionUpdate) error {
	now, same := c.unix(), slices.EqualFunc(sub.Items, u.items, sameItem)
	if same && u.trialEnd == 0 && !u.anchorNow {
		if !equalMetadata(sub.Items, u.items) {
			c.update(sub, func(sub *Subscription) { sub.Items = u.items })
		}
		return nil
	}
	if sub.Pending != nil { // a new update replaces the one that waits
		c.void(c.invoices.rows[sub.Pending.InvoiceID])
		sub = c.subscriptions.rows[sub.ID]
	}
	after := sub
	after.Items = c.startUsage(sub.Items, u.items)
	restarts := c.restart(sub, &after, u, now)
	var lines []PendingItem
	if u.prorate != "none" && sub.Status != Trialing && sub.Status != Paused {
		lines = c.prorations(sub, after, u.at, restarts)
	}
	if u.prorate == "always_invoice" && len(lines) == 0 && !restarts || !restarts && u.prorate != "always_invoice" {
		c.store(after)
		c.addPending(lines)
		return nil
	}
	i := c.newInvoice(sub.CustomerID, &sub, "subscription_update")
	c.addPending(lines)
	if restarts && sub.Status != Trialing {
		i.Lines = c.usageLines(sub, sub.PeriodStart, now)
	}
	taken := c.takePending(&i, sub.CustomerID, sub.ID)
	if u.payment == "pending_if_incomplete" {
		// If the update doesn't happen, the invoice is void: other items stay for the next one.
		taken = c.giveBack(taken, lines)
	}
	i.Lines = append(i.Lines, taken...)
	if restarts {
		i.Lines = append(i.Lines, c.periodLines(after)...)
	}
	return c.payUpdate(i, after, u)
}

// startUsage returns the items after an update, with the time from which their usage counts. Usage before an item was added or got
// its price isn't billed (docs.stripe.com/billing/subscriptions/usage-based/manage-billing-setup).
func (c *change) startUsage(before, items []Item) []Item {
	items = slices.Clone(items)
	for n := range items {
		items[n].Since = c.unix()
		for _, old := range before {
			if old.ID == items[n].ID && old.PriceID == items[n].PriceID {
				items[n].Since = old.Since
			}
		}
	}
	return items
}

// giveBack leaves only the lines of own items on an invoice. The other items wait for the next invoice.
func (c *change) giveBack(taken []InvoiceLine, own []PendingItem) []InvoiceLine {
	return slices.DeleteFunc(taken, func(l InvoiceLine) bool {
		if slices.ContainsFunc(own, func(item PendingItem) bool { return item.ID == l.PendingID }) {
			return false
		}
		item := c.pending.rows[l.PendingID]
		item.InvoiceID = ""
		c.set(billingRecord{Pending: &item})
		return true
	})
}

func sameItem(a, b Item) bool {
	return a.ID == b.ID && a.PriceID == b.PriceID && a.Quantity == b.Quantity
}

func equalMetadata(a, b []Item) bool {
	return slices.EqualFunc(a, b, func(a, b Item) bool {
		if len(a.Metadata) != len(b.Metadata) {
			return false
		}
		for k, v := range a.Metadata {
			if b.Metadata[k] != v {
				return false
			}
		}
		return true
	})
}

// restart sets the period of an updated subscription. It reports whether a new period begins now: the interval changes, the trial
// begins or ends, a free subscription begins to cost something, or the anchor is moved.
func (c *change) restart(sub Subscription, after *Subscription, u subscriptionUpdate, now int64) bool {
	old, main := c.mainPrice(sub.Items), c.mainPrice(after.Items)
	if u.trialEnd > now {
		began := sub.Status != Trialing
		after.Status, after.TrialEnd, after.PeriodEnd, after.Anchor, after.Warned = Trialing, u.trialEnd, u.trialEnd, u.trialEnd, false
		if began {
			after.TrialStart, after.PeriodStart = now, now
		}
		return began
	}
	trialing := sub.Status == Trialing && u.trialEnd == 0 && !u.anchorNow
	interval := old.Interval != main.Interval || old.Every != main.Every
	free := c.recurring(sub.Items) == 0 && c.recurring(after.Items) > 0 && !c.hasMetered(sub.Items)
	if trialing || sub.Status == Paused || !interval && !free && !u.anchorNow && u.trialEnd == 0 {
		return false
	}
	if sub.Status == Trialing {
		after.Status, after.TrialEnd = Active, now
	}
	after.Anchor, after.PeriodStart, after.PeriodEnd = now, now, main.after(now, 1)
	return true
}

// payUpdate bills an update. If the payment fails, payment_behavior decides whether the update happens.
func (c *change) payUpdate(i Invoice, after Subscription, u subscriptionUpdate) error {
	c.countUsage(&i)
	c.compute(&i)
	i.OneShot = !i.SendsInvoice && (u.payment == "pending_if_incomplete" || u.payment == "default_incomplete")
	c.set(billingRecord{Invoice: &i})
	c.report("invoice.created", c.renderInvoice(i))
	start := c.update(after, func(sub *Subscription) { sub.InvoiceID = i.ID }).Status
	i = c.finalize(i)
	var failure error
	open := i.Status == StatusOpen && !i.SendsInvoice
	if open && u.payment != "default_incomplete" {
		failure = c.attempt(i.ID, c.cardOfInvoice(i), false, true)
	}
	switch {
	case failure != nil && u.payment == "error_if_incomplete":
		return failure
	case failure != nil && u.payment == "pending_if_incomplete":
		c.update(after, func(sub *Subscription) {
			sub.Pending = &PendingUpdate{
				ExpiresAt: c.unix() + incompleteTime, InvoiceID: i.ID, Items: after.Items, Restarts: after.PeriodStart != sub.PeriodStart,
			}
			if sub.Pending.Restarts {
				sub.Pending.Anchor = after.Anchor
			}
		})
		return nil
	case failure != nil && after.Status == Active:
		after.Status = PastDue
	case after.Status == start:
		after.Status = c.subscriptions.rows[after.ID].Status // the payment may have changed it
	}
	c.store(after)
	return nil
}

// store stores the items and the period of an update, and keeps a schedule's current phase in step.
func (c *change) store(after Subscription) {
	sub := c.update(after, func(sub *Subscription) {
		sub.Items, sub.Anchor, sub.PeriodStart, sub.PeriodEnd = after.Items, after.Anchor, after.PeriodStart, after.PeriodEnd
		sub.TrialStart, sub.TrialEnd, sub.Status, sub.Warned = after.TrialStart, after.TrialEnd, after.Status, after.Warned
	})
	c.keepPhase(sub)
	if sub.Status == Trialing && !sub.Warned && sub.TrialEnd-c.unix() <= trialWarning {
		c.warn(sub)
	}
}

// endPending ends a pending update: its invoice is paid, or closed without a payment.
func (c *change) endPending(sub Subscription, paid bool) {
	p := *sub.Pending
	sub = c.update(sub, func(sub *Subscription) {
		sub.Pending = nil
		if !paid {
			return
		}
		sub.Items = p.Items
		if p.Restarts {
			main := c.mainPrice(p.Items)
			sub.Anchor, sub.PeriodStart, sub.PeriodEnd = c.unix(), c.unix(), main.after(c.unix(), 1)
			if sub.Status == Trialing {
				sub.Status, sub.TrialEnd = Active, c.unix()
			}
		}
	})
	if !paid {
		c.report("customer.subscription.pending_update_expired", c.renderSubscription(sub))
		return
	}
	c.keepPhase(sub)
	c.report("customer.subscription.pending_update_applied", c.renderSubscription(sub))
}

// prorations returns the credit for the unused time of changed items, and the charge for the rest of the period on the new ones.
// restarts: the new items are billed with a period of their own, so they need no charge.
func (c *change) prorations(sub, after Subscription, at int64, restarts bool) []PendingItem {
	var lines []PendingItem
	rest, length := sub.PeriodEnd-at, sub.PeriodEnd-sub.PeriodStart
	line := func(item Item, sign int64, text string) {
		p := c.prices[item.PriceID]
		if p.Metered {
			return
		}
		lines = append(lines, PendingItem{
			ID: newID("ii_"), Created: c.unix(), CustomerID: sub.CustomerID, SubscriptionID: sub.ID, Currency: p.Currency,
			Cents: sign * share(p.cents(item.Quantity), rest, length), PriceID: p.ID, ItemID: item.ID, Quantity: item.Quantity,
			Description: text + " time on " + c.products[p.ProductID].Name + " after " + date(at), Start: at, End: sub.PeriodEnd, Proration: true,
			Metadata: map[string]string{},
		})
	}
	for _, item := range sub.Items {
		if restarts || !slices.ContainsFunc(after.Items, func(other Item) bool { return sameItem(item, other) }) {
			line(item, -1, "Unused")
		}
	}
	for _, item := range after.Items {
		if !restarts && !slices.ContainsFunc(sub.Items, func(other Item) bool { return sameItem(item, other) }) {
			line(item, 1, "Remaining")
		}
	}
	return lines
}

// addPending stores prorations for the next invoice.
func (c *change) addPending(lines []PendingItem) {
	for _, l := range lines {
		c.set(billingRecord{Pending: &l})
		c.report("invoiceitem.created", l.render())
	}
}
