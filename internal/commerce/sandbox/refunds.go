//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import "slices"

func createRefund(c *call) (any, error) {
	id, charge := c.text("payment_intent"), c.text("charge")
	r := Refund{
		AmountCents: c.amount("amount", 1, 0), Metadata: c.metadata(),
		Reason: c.oneOf("reason", "", "duplicate", "fraudulent", "requested_by_customer"),
	}
	withFee := c.flag("refund_application_fee")
	c.ignore("expand")
	if err := c.done(); err != nil {
		return nil, err
	}
	if id == "" && charge == "" {
		return nil, invalid("parameter_missing", "", "One of the following params should be provided for this request: payment_intent or charge.")
	}
	p, known := c.payments[id]
	if id == "" {
		for _, candidate := range c.mine() {
			if candidate.ChargeID == charge {
				p, known = candidate, true
			}
		}
	}
	if !known || p.Account != c.account {
		if id == "" {
			return nil, none("charge", charge, "charge")
		}
		return nil, none("payment_intent", id, "payment_intent")
	}
	r, err := c.refund(p, r, withFee)
	if err != nil {
		return nil, err
	}
	return r.render(), nil
}

// refund makes a refund; 0 cents refund all that is left.
func (c *change) refund(p Payment, r Refund, withFee bool) (Refund, error) {
	left := p.AmountCents - p.RefundedCents
	switch {
	case p.Status != Succeeded:
		return r, refuse("", "payment_intent", "This PaymentIntent (%s) does not have a successful charge to refund.", p.ID)
	case left == 0:
		return r, refuse("charge_already_refunded", "", "Charge %s has already been refunded.", p.ChargeID)
	case r.AmountCents > left:
		return r, refuse("", "amount", "Refund amount (%d) is greater than unrefunded amount on charge (%d)", r.AmountCents, left)
	case r.AmountCents == 0:
		r.AmountCents = left
	}
	r.ID, r.Seq, r.Account, r.PaymentID, r.ChargeID = newID("re_"), c.next(), p.Account, p.ID, p.ChargeID
	r.Created, r.Currency, r.Status = c.now.Unix(), p.Currency, Succeeded
	if p.InvoiceID != "" {
		r.Created = c.unix()
	}
	if c.refundsWait {
		r.Status = Pending
	}
	p.RefundedCents += r.AmountCents
	if withFee {
		// The same share of the fee is refunded; the last refund returns the rest of it.
		share := (p.FeeCents*p.RefundedCents + p.AmountCents/2) / p.AmountCents
		r.FeeCents = max(0, share-p.FeeRefundedCents)
		p.FeeRefundedCents += r.FeeCents
	}
	c.put(record{Payment: &p})
	c.put(record{Refund: &r})
	c.emitOn(p, "charge.refunded", p.renderCharge())
	c.emitOn(p, "refund.created", r.render())
	return r, nil
}

// settleRefund ends a pending refund. A succeeded one can still fail: the buyer's
// bank returns the money.
func (c *change) settleRefund(r Refund, ok bool) (Refund, error) {
	if r.Status != Pending && (ok || r.Status != Succeeded) {
		return r, refuse("", "", "This refund doesn't wait.")
	}
	r.Status = Succeeded
	if !ok {
		r.Status = Failed
		p := c.payments[r.PaymentID]
		p.RefundedCents -= r.AmountCents
		p.FeeRefundedCents -= r.FeeCents
		c.put(record{Payment: &p})
	}
	c.put(record{Refund: &r})
	p := c.payments[r.PaymentID]
	c.emitOn(p, "charge.refund.updated", r.render())
	c.emitOn(p, "refund.updated", r.render())
	if r.Status == Failed {
		c.emitOn(p, "refund.failed", r.render())
	}
	return r, nil
}

func getRefund(c *call) (any, error) {
	c.ignore("expand")
	if err := c.done(); err != nil {
		return nil, err
	}
	r, known := c.refunds[c.r.PathValue("id")]
	if !known || r.Account != c.account {
		return nil, none("refund", c.r.PathValue("id"), "")
	}
	return r.render(), nil
}

func listRefunds(c *call) (any, error) {
	payment, charge := c.text("payment_intent"), c.text("charge")
	c.ignore("expand")
	mine := slices.DeleteFunc(newest(c.order.refunds, c.refunds), func(r Refund) bool {
		return r.Account != c.account || payment != "" && r.PaymentID != payment ||
			charge != "" && c.payments[r.PaymentID].ChargeID != charge
	})
	return page(c, mine, func(r Refund) string { return r.ID }, func(r Refund) int64 { return r.Created },
		func(r Refund) any { return r.render() })
}

func (r Refund) render() object {
	return object{
		"id": r.ID, "object": "refund", "created": r.Created, "status": r.Status, "reason": nullable(r.Reason), "currency": r.Currency,
		"amount": r.AmountCents, "failure_reason": r.failureReason(), "payment_intent": r.PaymentID, "charge": r.ChargeID, "metadata": r.Metadata,
	}
}

func (r Refund) failureReason() any {
	if r.Status == Failed {
		return "unknown"
	}
	return nil
}
