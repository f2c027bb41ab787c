//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import "slices"

// pay pays a page. If later is set, the payment is processing until settle ends it.
func (c *change) pay(x Session, email string, later bool) (Session, error) {
	if x.Plan != nil {
		if later {
			return x, refuse("", "", "A subscription is paid by card only.")
		}
		return c.subscribe(x, buyer{email: email, card: CardPays, country: "DE"})
	}
	switch x.Status {
	case StatusComplete:
		return x, refuse("", "", "This page has been paid already.")
	case StatusExpired:
		return x, refuse("", "", "This page has expired.")
	}
	if x.CustomerEmail == "" {
		x.CustomerEmail = email
	}
	x.Status, x.PaidBy = StatusComplete, x.CustomerEmail
	if k, known := c.coupons[Coupon{ID: x.CouponID, Account: x.Account}.key()]; known {
		if !k.valid(c.now.Unix()) {
			return x, refuse("coupon_expired", "", "Coupon %s is expired and cannot be applied.", k.ID)
		}
		k.Redeemed++
		c.put(record{Coupon: &k})
	}
	if x.TotalCents() > 0 {
		p := Payment{
			ID: newID("pi_"), ChargeID: newID("ch_"), Seq: c.next(), Account: x.Account, SessionID: x.ID, Created: c.now.Unix(),
			Status: Processing, Currency: x.Currency, AmountCents: x.TotalCents(), FeeCents: x.FeeCents,
			Email: x.PaidBy, Metadata: x.PaymentMetadata,
		}
		x.PaymentID = p.ID
		if !later {
			x.PaymentStatus, p.Status = Paid, Succeeded
			c.emitPaid(p)
		}
		c.put(record{Payment: &p})
	}
	c.put(record{Session: &x})
	c.emit(x.Account, "checkout.session.completed", x.render(""))
	return x, nil
}

func (c *change) emitPaid(p Payment) {
	c.emit(p.Account, "payment_intent.succeeded", p.render(false))
	c.emit(p.Account, "charge.succeeded", p.renderCharge())
}

// settle ends a processing payment.
func (c *change) settle(x Session, ok bool) (Session, error) {
	p, known := c.payments[x.PaymentID]
	if !known || p.Status != Processing {
		return x, refuse("", "", "No payment of this page is on its way.")
	}
	report := "checkout.session.async_payment_failed"
	if ok {
		p.Status, x.PaymentStatus, report = Succeeded, Paid, "checkout.session.async_payment_succeeded"
		c.emitPaid(p)
	} else {
		p.Status = NeedsMethod
		c.emit(p.Account, "payment_intent.payment_failed", p.render(false))
	}
	c.put(record{Payment: &p})
	c.put(record{Session: &x})
	c.emit(x.Account, report, x.render(""))
	return x, nil
}

// mine returns the caller's payments, newest first.
func (c *call) mine() []Payment {
	return slices.DeleteFunc(newest(c.order.payments, c.payments), func(p Payment) bool { return p.Account != c.account })
}

func getPayment(c *call) (any, error) {
	wants := c.wants()
	if err := c.done(); err != nil {
		return nil, err
	}
	p, known := c.payments[c.r.PathValue("id")]
	if !known || p.Account != c.account {
		return nil, none("payment_intent", c.r.PathValue("id"), "")
	}
	return p.render(wants["latest_charge"]), nil
}

func listPayments(c *call) (any, error) {
	wants := c.wants()
	return page(c, c.mine(), func(p Payment) string { return p.ID }, func(p Payment) int64 { return p.Created },
		func(p Payment) any { return p.render(wants["latest_charge"]) })
}

func getCharge(c *call) (any, error) {
	c.ignore("expand")
	if err := c.done(); err != nil {
		return nil, err
	}
	id := c.r.PathValue("id")
	for _, p := range c.mine() {
		if p.ChargeID == id {
			return p.renderCharge(), nil
		}
	}
	return nil, none("charge", id, "")
}

func listCharges(c *call) (any, error) {
	id := c.text("payment_intent")
	charges := slices.DeleteFunc(c.mine(), func(p Payment) bool { return p.Status != Succeeded || id != "" && p.ID != id })
	c.ignore("expand")
	return page(c, charges, func(p Payment) string { return p.ChargeID }, func(p Payment) int64 { return p.Created },
		func(p Payment) any { return p.renderCharge() })
}

func (p Payment) render(whole bool) object {
	received := int64(0)
	var charge any
	if p.Status == Succeeded {
		received, charge = p.AmountCents, p.ChargeID
		if whole {
			charge = p.renderCharge()
		}
	}
	rendered := object{
		"id": p.ID, "object": "payment_intent", "created": p.Created, "livemode": false, "status": p.Status, "currency": p.Currency,
		"amount": p.AmountCents, "amount_received": received, "application_fee_amount": nullable(p.FeeCents), "latest_charge": charge,
		"metadata": p.Metadata, "receipt_email": nil, "customer": nullable(p.CustomerID), "invoice": nullable(p.InvoiceID),
		"payment_method": nullable(p.CardID), "client_secret": p.ID + "_secret_sandbox", "last_payment_error": nil, "next_action": nil,
	}
	if p.FailCode != "" {
		rendered["last_payment_error"] = object{"type": "card_error", "code": p.FailCode, "message": p.FailText}
	}
	if p.Status == NeedsAction {
		rendered["next_action"] = object{"type": "use_stripe_sdk", "use_stripe_sdk": object{}}
	}
	return rendered
}

// renderFailedCharge returns the charge of a failed attempt; each has an id of its own.
func (p Payment) renderFailedCharge() object {
	charge := p.renderCharge()
	charge["id"], charge["status"], charge["paid"], charge["captured"], charge["amount_captured"] = newID("ch_"), Failed, false, false, 0
	charge["failure_code"], charge["failure_message"] = p.FailCode, p.FailText
	return charge
}

func (p Payment) renderCharge() object {
	return object{
		"id": p.ChargeID, "object": "charge", "created": p.Created, "livemode": false, "status": Succeeded, "paid": true, "captured": true,
		"currency": p.Currency, "amount": p.AmountCents, "amount_captured": p.AmountCents, "amount_refunded": p.RefundedCents,
		"refunded": p.RefundedCents == p.AmountCents, "application_fee_amount": nullable(p.FeeCents), "payment_intent": p.ID,
		"metadata": p.Metadata, "billing_details": object{"email": nullable(p.Email)},
		"customer": nullable(p.CustomerID), "invoice": nullable(p.InvoiceID), "payment_method": nullable(p.CardID),
	}
}
