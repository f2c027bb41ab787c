package sandbox

func cancelSubscription(c *call) (any, error) {
	sub, err := c.subscription()
	if err != nil {
		return nil, err
	}
	invoiceNow, prorate := c.flag("invoice_now"), c.flag("prorate")
	c.readDetails(&sub)
	if err := c.done(); err != nil {
		return nil, err
	}
	if sub.ended() {
		return nil, none("subscription", sub.ID, "id")
	}
	c.update(sub, func(s *Subscription) { s.CancelComment, s.CancelFeedback = sub.CancelComment, sub.CancelFeedback })
	if prorate && sub.Status != Trialing {
		c.addPending(c.prorations(sub, Subscription{}, c.unix(), true))
	}
	if invoiceNow {
		c.billRest(sub)
	}
	return c.renderSubscription(c.cancel(sub)), nil
}

// billRest bills the usage of the current period and the pending items.
func (c *change) billRest(sub Subscription) {
	i := c.newInvoice(sub.CustomerID, &sub, "manual")
	// The usage of this second is included: no later period bills it.
	i.Lines = append(c.usageLines(sub, sub.PeriodStart, c.unix()+1), c.takePending(&i, sub.CustomerID, sub.ID)...)
	if len(i.Lines) > 0 {
		c.issue(i, false)
	}
}

// resumeSubscription resumes a subscription that was paused at its trial's end. It stays paused until its invoice is paid.
func resumeSubscription(c *call) (any, error) {
	anchorNow := c.oneOf("billing_cycle_anchor", "now", "unchanged") == "now"
	c.oneOf("proration_behavior", "create_prorations", "always_invoice", "none")
	c.whole("proration_date", 0)
	if err := c.done(); err != nil {
		return nil, err
	}
	sub, err := c.subscription()
	if err != nil {
		return nil, err
	}
	if sub.Status != Paused {
		return nil, refuse("", "", "This subscription isn't paused: only subscriptions with a status of `paused` can be resumed.")
	}
	now, main := c.unix(), c.mainPrice(sub.Items)
	sub = c.update(sub, func(sub *Subscription) {
		if anchorNow {
			sub.Anchor = now
		}
		sub.PeriodStart, sub.PeriodEnd = now, main.nextAfter(sub.Anchor, now)
	})
	i := c.newInvoice(sub.CustomerID, &sub, "subscription_update")
	i.OneShot, i.Resumes, i.VoidsAt = true, true, now+incompleteTime
	i.Lines = append(c.takePending(&i, sub.CustomerID, sub.ID), c.periodLines(sub)...)
	c.compute(&i)
	c.set(billingRecord{Invoice: &i})
	c.report("invoice.created", c.renderInvoice(i))
	c.update(sub, func(sub *Subscription) { sub.InvoiceID = i.ID })
	_ = c.collect(i) // a failed charge leaves the subscription paused
	return c.renderSubscription(c.subscriptions.rows[sub.ID]), nil
}

// resumed ends the pause of a subscription.
func (c *change) resumed(sub Subscription) {
	sub = c.update(sub, func(sub *Subscription) { sub.Status = Active })
	c.report("customer.subscription.resumed", c.renderSubscription(sub))
}
