package sandbox

import "errors"

// pauses returns the seconds between a failed charge and the next one; after the last one dunning ends.
func pauses() []int64 { return []int64{3 * day, 5 * day, 7 * day} }

// attempt charges an open invoice. present: the buyer is there and confirms the card with 3-D Secure. auto: the attempt belongs to the
// retry schedule. The error says why the charge failed; the changes stay.
func (c *change) attempt(invoiceID, cardID string, present, auto bool) error {
	i, card := c.invoices.rows[invoiceID], c.cards.rows[cardID]
	failure := c.chargeable(i, card, present)
	before, p := i, c.payments[i.PaymentID]
	if auto || i.Attempts == 0 {
		i.Attempts++
	} else {
		auto = false
	}
	i.Attempted, p.CardID = true, card.ID
	if failure == nil {
		if present && authenticates(card.Number) {
			card.Authenticated = true
			c.set(billingRecord{Card: &card})
		}
		p.Status, p.FailCode, p.FailText = Succeeded, "", ""
		c.put(record{Payment: &p})
		c.report("charge.succeeded", p.renderCharge())
		c.report("payment_intent.succeeded", p.render(false))
		c.setInvoice(before, i)
		c.paid(i)
		return nil
	}
	p.Status, p.FailCode, p.FailText = NeedsMethod, failure.code, failure.message
	action := failure.code == "authentication_required"
	if action {
		p.Status = NeedsAction
	}
	c.put(record{Payment: &p})
	i.Failed = true
	ends := c.planRetry(&i, auto)
	c.setInvoice(before, i)
	if failure.kind == cardError {
		c.report("charge.failed", p.renderFailedCharge())
	}
	if action {
		c.report("payment_intent.requires_action", p.render(false))
	}
	c.report("payment_intent.payment_failed", p.render(false))
	if !action || !i.OneShot {
		c.report("invoice.payment_failed", c.renderInvoice(i))
	}
	if action {
		c.report("invoice.payment_action_required", c.renderInvoice(i))
	}
	c.missed(i, ends)
	return failure
}

// chargeable returns why a charge of a card would fail, or nil.
func (c *change) chargeable(i Invoice, card Card, present bool) *refusal {
	if card.ID == "" || card.CustomerID != i.CustomerID {
		return &refusal{
			status: 400, kind: invalidRequest, code: "resource_missing", kept: true,
			message: "This customer has no attached payment source or default payment method.",
		}
	}
	r, failed := errors.AsType[*refusal](card.charge(present))
	if !failed {
		return nil
	}
	return r
}

// planRetry sets the time of the next attempt. It reports whether the last one has failed.
func (c *change) planRetry(i *Invoice, auto bool) (ends bool) {
	if i.OneShot || !auto {
		return false
	}
	i.NextAttempt = 0
	if n := int(i.Attempts) - 1; n < len(pauses()) {
		i.NextAttempt = c.unix() + pauses()[n]
		return false
	}
	return true
}

// missed changes the status of a subscription whose invoice wasn't paid. ends: there is no further attempt.
func (c *change) missed(i Invoice, ends bool) {
	sub, known := c.subscriptions.rows[i.SubscriptionID]
	if !known || i.OneShot || sub.ended() {
		return
	}
	if sub.Status == Active && (sub.InvoiceID == i.ID || i.Overdue) {
		sub = c.update(sub, func(sub *Subscription) { sub.Status = PastDue })
	}
	if !ends || sub.Status != PastDue { // a later invoice is paid, or a trial has begun
		return
	}
	if c.dunningEnd == Canceled {
		sub.CancelReason = "payment_failed"
		c.set(billingRecord{Subscription: &sub})
		c.cancel(sub)
		return
	}
	c.update(sub, func(sub *Subscription) { sub.Status = Unpaid })
}

// collect finalizes a draft and charges it, or sends it.
func (c *change) collect(i Invoice) error {
	i = c.finalize(i)
	if i.Status != StatusOpen || i.SendsInvoice {
		return nil
	}
	return c.attempt(i.ID, c.cardOfInvoice(i), false, true)
}

func (c *change) cardOfInvoice(i Invoice) string {
	if i.DefaultCard != "" {
		return i.DefaultCard
	}
	if sub, known := c.subscriptions.rows[i.SubscriptionID]; known {
		return c.cardOf(sub)
	}
	return c.customers.rows[i.CustomerID].DefaultCard
}

// void closes an open invoice without a payment.
func (c *change) void(i Invoice) Invoice {
	before := i
	i.Status, i.VoidedAt, i.NextAttempt, i.VoidsAt, i.AutoAdvance = Void, c.unix(), 0, 0, false
	c.setInvoice(before, i)
	c.report("invoice.voided", c.renderInvoice(i))
	c.cancelPayment(i)
	if u := c.customers.rows[i.CustomerID]; i.EndingBalance != i.StartingBalance {
		// The balance that was applied is the customer's again.
		u.BalanceCents -= i.EndingBalance - i.StartingBalance
		c.set(billingRecord{Customer: &u})
	}
	c.settled(i)
	return i
}

// writeOff marks an open invoice as uncollectible.
func (c *change) writeOff(i Invoice) Invoice {
	before := i
	i.Status, i.UncollectibleAt, i.NextAttempt, i.AutoAdvance = Uncollectible, c.unix(), 0, false
	c.setInvoice(before, i)
	c.report("invoice.marked_uncollectible", c.renderInvoice(i))
	c.settled(i)
	return i
}

func (c *change) cancelPayment(i Invoice) {
	if p, known := c.payments[i.PaymentID]; known && p.Status != Succeeded {
		p.Status = Canceled
		c.put(record{Payment: &p})
		c.report("payment_intent.canceled", p.render(false))
	}
}
