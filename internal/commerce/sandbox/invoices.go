//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"fmt"
	"slices"
	"time"
)

// InvoiceLine is a line of an invoice.
type InvoiceLine struct {
	ID          string `json:"id"`
	Cents       int64  `json:"cents"`
	Description string `json:"description"`
	PriceID     string `json:"priceId"`
	Quantity    int64  `json:"quantity"`
	Start       int64  `json:"start"`
	End         int64  `json:"end"`
	Proration   bool   `json:"proration"`
	// ItemID is the subscription's item; PendingID the pending item that the line bills.
	ItemID    string `json:"itemId"`
	PendingID string `json:"pendingId"`
	// Metered: the quantity is the usage from Start to End, and is counted again when the invoice is finalized.
	Metered  bool              `json:"metered"`
	Metadata map[string]string `json:"metadata"`
}

// Invoice is an invoice. Times are Unix seconds, 0 for none.
type Invoice struct {
	ID             string            `json:"id"`
	Seq            uint64            `json:"seq"`
	Created        int64             `json:"created"`
	CustomerID     string            `json:"customerId"`
	SubscriptionID string            `json:"subscriptionId"`
	Number         string            `json:"number"`
	Status         string            `json:"status"`
	Reason         string            `json:"reason"`
	Currency       string            `json:"currency"`
	Description    string            `json:"description"`
	Metadata       map[string]string `json:"metadata"`
	Lines          []InvoiceLine     `json:"lines"`
	PeriodStart    int64             `json:"periodStart"`
	PeriodEnd      int64             `json:"periodEnd"`

	SubtotalCents int64  `json:"subtotalCents"`
	DiscountCents int64  `json:"discountCents"`
	CouponID      string `json:"couponId"`
	Tax           bool   `json:"tax"`
	TaxCents      int64  `json:"taxCents"`
	// InclusiveTaxCents is the part of TaxCents that the subtotal includes.
	InclusiveTaxCents int64 `json:"inclusiveTaxCents"`
	TotalCents        int64 `json:"totalCents"`
	// StartingBalance and EndingBalance are the customer's balance before and after the invoice was finalized.
	StartingBalance int64 `json:"startingBalance"`
	EndingBalance   int64 `json:"endingBalance"`
	DueCents        int64 `json:"dueCents"`
	PaidCents       int64 `json:"paidCents"`

	SendsInvoice bool   `json:"sendsInvoice"`
	DaysUntilDue int64  `json:"daysUntilDue"`
	DefaultCard  string `json:"defaultCard"`
	// AutoAdvance: the sandbox finalizes and charges the invoice by itself.
	AutoAdvance bool  `json:"autoAdvance"`
	FinalizesAt int64 `json:"finalizesAt"`
	NextAttempt int64 `json:"nextAttempt"`
	DueDate     int64 `json:"dueDate"`
	Attempts    int64 `json:"attempts"`
	Attempted   bool  `json:"attempted"`
	// Failed: the last charge failed. Overdue: the due date has passed.
	Failed  bool `json:"failed"`
	Overdue bool `json:"overdue"`
	// OneShot: a failed charge is not repeated and leaves the subscription's status as it is.
	OneShot bool `json:"oneShot"`
	// Resumes: the payment resumes a paused subscription. VoidsAt is when the invoice is voided otherwise.
	Resumes         bool   `json:"resumes"`
	VoidsAt         int64  `json:"voidsAt"`
	PaymentID       string `json:"paymentId"`
	PaidOutOfBand   bool   `json:"paidOutOfBand"`
	FinalizedAt     int64  `json:"finalizedAt"`
	PaidAt          int64  `json:"paidAt"`
	VoidedAt        int64  `json:"voidedAt"`
	UncollectibleAt int64  `json:"uncollectibleAt"`
}

// States of an Invoice. StatusOpen and Paid are among the page's and the payment's states.
const (
	Draft         = "draft"
	Void          = "void"
	Uncollectible = "uncollectible"
)

// taxPercent is the flat tax of invoices with automatic tax.
const taxPercent = 19

// PendingItem is an amount that waits for the next invoice of its subscription or customer.
type PendingItem struct {
	ID             string            `json:"id"`
	Created        int64             `json:"created"`
	CustomerID     string            `json:"customerId"`
	SubscriptionID string            `json:"subscriptionId"`
	InvoiceID      string            `json:"invoiceId"`
	Currency       string            `json:"currency"`
	Cents          int64             `json:"cents"`
	Description    string            `json:"description"`
	PriceID        string            `json:"priceId"`
	ItemID         string            `json:"itemId"`
	Quantity       int64             `json:"quantity"`
	Start          int64             `json:"start"`
	End            int64             `json:"end"`
	Proration      bool              `json:"proration"`
	Metadata       map[string]string `json:"metadata"`
}

// newInvoice returns a draft of now; sub may be nil.
func (c *change) newInvoice(customerID string, sub *Subscription, reason string) Invoice {
	i := Invoice{
		ID: newID("in_"), Seq: c.next(), Created: c.unix(), CustomerID: customerID, Status: Draft, Reason: reason, AutoAdvance: true,
		PeriodStart: c.unix(), PeriodEnd: c.unix(), Metadata: map[string]string{},
	}
	if sub != nil {
		i.SubscriptionID, i.Currency, i.Tax = sub.ID, sub.Currency, sub.Tax
		i.SendsInvoice, i.DaysUntilDue = sub.SendsInvoice, sub.DaysUntilDue
		if c.discounted(*sub) {
			i.CouponID = sub.CouponID
		}
	}
	return i
}

// periodLines returns the lines of a subscription's period: licensed items in advance.
func (c *change) periodLines(sub Subscription) []InvoiceLine {
	var lines []InvoiceLine
	for _, item := range sub.Items {
		p := c.prices[item.PriceID]
		l := InvoiceLine{
			ID: newID("il_"), PriceID: p.ID, Quantity: item.Quantity, Start: sub.PeriodStart, End: sub.PeriodEnd, ItemID: item.ID,
			Metadata: sub.Metadata,
		}
		name := c.products[p.ProductID].Name
		switch {
		case sub.Status == Trialing:
			l.Description = "Trial period for " + name
		case p.Metered:
			l.Description = name + " (metered)"
			l.End = l.Start
		default:
			l.Cents, l.Description = p.cents(item.Quantity), fmt.Sprintf("%d × %s (at %s / %s)", item.Quantity, name, p.unit(), p.Interval)
		}
		if p.Metered && sub.Status != Incomplete && sub.Status != Trialing {
			continue // the usage lines stand for it
		}
		lines = append(lines, l)
	}
	return lines
}

// unit formats the price of one unit.
func (p Price) unit() string {
	if p.UnitDecimal != "" {
		return p.UnitDecimal + " " + p.Currency + " cents"
	}
	return money(p.UnitCents, p.Currency)
}

// takePending moves the pending items of a subscription, and those of no subscription, to an invoice.
func (c *change) takePending(i *Invoice, customerID, subscriptionID string) []InvoiceLine {
	var lines []InvoiceLine
	for _, item := range c.pending.oldest(func(p PendingItem) bool {
		return p.InvoiceID == "" && p.CustomerID == customerID && (p.SubscriptionID == "" || p.SubscriptionID == subscriptionID) &&
			(i.Currency == "" || p.Currency == i.Currency)
	}) {
		item.InvoiceID = i.ID
		c.set(billingRecord{Pending: &item})
		i.Currency = item.Currency
		lines = append(lines, InvoiceLine{
			ID: newID("il_"), Cents: item.Cents, Description: item.Description, PriceID: item.PriceID, Quantity: item.Quantity, Start: item.Start,
			End: item.End, Proration: item.Proration, ItemID: item.ItemID, PendingID: item.ID, Metadata: item.Metadata,
		})
	}
	return lines
}

// compute sums the lines: subtotal, discount, tax and total.
func (c *change) compute(i *Invoice) {
	inclusive := int64(0)
	i.SubtotalCents = 0
	for _, l := range i.Lines {
		i.SubtotalCents += l.Cents
		if c.prices[l.PriceID].TaxBehavior == "inclusive" {
			inclusive += l.Cents
		}
	}
	i.DiscountCents = 0
	if k, known := c.coupons[Coupon{ID: i.CouponID}.key()]; known && i.SubtotalCents > 0 {
		i.DiscountCents = k.off(i.SubtotalCents)
	}
	i.TaxCents, i.InclusiveTaxCents = 0, 0
	if i.Tax {
		inclusiveNet := inclusive - share(i.DiscountCents, inclusive, max(1, i.SubtotalCents))
		exclusiveNet := i.SubtotalCents - i.DiscountCents - inclusiveNet
		i.InclusiveTaxCents = share(inclusiveNet, taxPercent, 100+taxPercent)
		i.TaxCents = share(exclusiveNet, taxPercent, 100) + i.InclusiveTaxCents
	}
	i.TotalCents = i.SubtotalCents - i.DiscountCents + i.TaxCents - i.InclusiveTaxCents
	i.StartingBalance = c.customers.rows[i.CustomerID].BalanceCents
	i.DueCents = max(0, i.TotalCents+i.StartingBalance)
}

// setInvoice stores an invoice and emits invoice.updated.
func (c *change) setInvoice(before, i Invoice) {
	c.set(billingRecord{Invoice: &i})
	c.reportUpdate("invoice.updated", c.renderInvoice(before), c.renderInvoice(i))
}

// finalize gives a draft its number and applies the customer's balance. An invoice with nothing to pay is paid.
func (c *change) finalize(i Invoice) Invoice {
	c.countUsage(&i)
	c.compute(&i)
	u := c.customers.rows[i.CustomerID]
	u.Invoices++
	i.Number, i.Status, i.FinalizedAt, i.FinalizesAt = fmt.Sprintf("%s-%04d", u.Prefix, u.Invoices), StatusOpen, c.unix(), 0
	sum := i.TotalCents + i.StartingBalance
	if i.DueCents < leastCents && !i.SendsInvoice {
		i.DueCents = 0 // too small for a charge: the next invoice adds it
	}
	i.EndingBalance = sum - i.DueCents
	u.BalanceCents = i.EndingBalance
	c.set(billingRecord{Customer: &u})
	if i.SendsInvoice {
		i.DueDate = c.unix() + i.DaysUntilDue*day
	}
	if i.DueCents > 0 {
		p := Payment{
			ID: newID("pi_"), ChargeID: newID("ch_"), Seq: c.next(), Created: c.unix(), Status: NeedsMethod, Currency: i.Currency,
			AmountCents: i.DueCents, Email: u.Email, Metadata: map[string]string{}, CustomerID: u.ID, InvoiceID: i.ID,
		}
		i.PaymentID = p.ID
		c.put(record{Payment: &p})
	}
	c.set(billingRecord{Invoice: &i})
	c.report("invoice.finalized", c.renderInvoice(i))
	switch {
	case i.DueCents == 0:
		i.Attempted = true
		return c.paid(i)
	case i.SendsInvoice:
		c.report("invoice.sent", c.renderInvoice(i))
	}
	return i
}

// paid marks an invoice as paid, with the effect on its subscription.
func (c *change) paid(i Invoice) Invoice {
	before := i
	i.Status, i.PaidCents, i.PaidAt, i.NextAttempt, i.Failed, i.Overdue, i.VoidsAt = Paid, i.DueCents, c.unix(), 0, false, false, 0
	c.setInvoice(before, i)
	c.report("invoice.paid", c.renderInvoice(i))
	c.report("invoice.payment_succeeded", c.renderInvoice(i))
	c.settled(i)
	return i
}

// settled brings a subscription back to active after its invoice is paid, voided or written off.
func (c *change) settled(i Invoice) {
	sub, known := c.subscriptions.rows[i.SubscriptionID]
	if !known {
		return
	}
	latest := sub.InvoiceID == i.ID || !slices.ContainsFunc(c.invoices.newest(every), func(other Invoice) bool {
		return other.SubscriptionID == sub.ID && other.ID != i.ID && other.Status == StatusOpen && (other.Failed || other.Overdue)
	})
	switch {
	case sub.Pending != nil && sub.Pending.InvoiceID == i.ID:
		c.endPending(sub, i.Status == Paid)
	case sub.Status == Incomplete && i.Status != Paid:
		c.expireIncomplete(sub)
	case sub.Status == Incomplete:
		c.update(sub, func(sub *Subscription) { sub.Status, sub.ExpiresAt = Active, 0 })
	case sub.Status == Paused && i.Resumes && i.Status == Paid:
		c.resumed(sub)
	case latest && (sub.Status == PastDue || sub.Status == Unpaid):
		c.update(sub, func(sub *Subscription) { sub.Status = Active })
	}
}

func renderLine(i Invoice, l InvoiceLine, p Price) object {
	kind := "subscription"
	if l.PendingID != "" {
		kind = "invoiceitem"
	}
	rendered := object{
		"id": l.ID, "object": "line_item", "amount": l.Cents, "amount_excluding_tax": l.Cents, "currency": i.Currency,
		"description": l.Description, "discountable": !l.Proration, "discounts": []any{}, "invoice": i.ID,
		"invoice_item": nullable(l.PendingID), "livemode": false,
		"metadata": l.Metadata, "period": object{"start": l.Start, "end": l.End}, "price": nil, "proration": l.Proration, "quantity": l.Quantity,
		"subscription": nullable(i.SubscriptionID), "subscription_item": nullable(l.ItemID), "type": kind,
		"tax_amounts": []any{}, "tax_rates": []any{},
	}
	if l.PriceID != "" {
		rendered["price"] = p.render()
	}
	return rendered
}

func (c *change) renderInvoice(i Invoice) object {
	u, p := c.customers.rows[i.CustomerID], c.payments[i.PaymentID]
	lines := []any{}
	for _, l := range i.Lines {
		lines = append(lines, renderLine(i, l, c.prices[l.PriceID]))
	}
	method := "charge_automatically"
	if i.SendsInvoice {
		method = "send_invoice"
	}
	var hosted, pdf, charge, taxStatus, details any
	if i.Number != "" {
		hosted, pdf = c.url+"/invoices/"+i.ID, c.url+"/invoices/"+i.ID+"/pdf"
	}
	if p.Status == Succeeded {
		charge = p.ChargeID
	}
	if i.Tax {
		taxStatus = "complete"
	}
	if sub, known := c.subscriptions.rows[i.SubscriptionID]; known {
		details = object{"metadata": sub.Metadata}
	}
	taxes, discounts := []any{}, []any{}
	if i.Tax {
		taxes = append(taxes, i.renderTax())
	}
	if i.DiscountCents > 0 {
		discounts = append(discounts, object{"amount": i.DiscountCents, "discount": "di_" + i.CouponID})
	}
	rendered := object{
		"id": i.ID, "object": "invoice", "created": i.Created, "livemode": false, "status": i.Status, "number": nullable(i.Number),
		"currency": i.Currency, "customer": i.CustomerID, "customer_email": nullable(u.Email), "customer_name": nullable(u.Name),
		"customer_address": renderAddress(u.Address), "subscription": nullable(i.SubscriptionID), "subscription_details": details,
		"billing_reason": i.Reason, "collection_method": method, "description": nullable(i.Description), "metadata": i.Metadata,
		"lines": whole("/v1/invoices/"+i.ID+"/lines", lines), "period_start": i.PeriodStart, "period_end": i.PeriodEnd,
		"subtotal": i.SubtotalCents, "subtotal_excluding_tax": i.SubtotalCents - i.InclusiveTaxCents, "tax": nil,
		"total": i.TotalCents, "total_excluding_tax": i.TotalCents - i.TaxCents, "total_tax_amounts": taxes, "total_discount_amounts": discounts,
		"automatic_tax": object{"enabled": i.Tax, "status": taxStatus}, "discounts": []any{}, "discount": nil,
		"starting_balance": i.StartingBalance, "ending_balance": nil, "amount_due": i.DueCents, "amount_paid": i.PaidCents,
		"amount_remaining": i.DueCents - i.PaidCents, "amount_shipping": 0, "paid": i.Status == Paid, "paid_out_of_band": i.PaidOutOfBand,
		"attempt_count": i.Attempts, "attempted": i.Attempted, "auto_advance": i.AutoAdvance && (i.Status == Draft || i.Status == StatusOpen),
		"next_payment_attempt": nullable(i.NextAttempt), "due_date": nullable(i.DueDate), "effective_at": nullable(i.FinalizedAt),
		"hosted_invoice_url": hosted, "invoice_pdf": pdf, "payment_intent": nullable(i.PaymentID), "charge": charge,
		"default_payment_method": nullable(i.DefaultCard), "status_transitions": object{
			"finalized_at": nullable(i.FinalizedAt), "paid_at": nullable(i.PaidAt), "voided_at": nullable(i.VoidedAt),
			"marked_uncollectible_at": nullable(i.UncollectibleAt),
		},
	}
	if i.Tax {
		rendered["tax"] = i.TaxCents
	}
	if i.Status == Draft && i.FinalizesAt > 0 {
		rendered["next_payment_attempt"] = i.FinalizesAt
	}
	if i.FinalizedAt > 0 {
		rendered["ending_balance"] = i.EndingBalance
	}
	return rendered
}

func (i Invoice) renderTax() object {
	return object{
		"amount": i.TaxCents, "inclusive": i.InclusiveTaxCents > 0 && i.InclusiveTaxCents == i.TaxCents, "tax_rate": "txr_sandbox_19",
		"taxability_reason": "standard_rated", "taxable_amount": i.TotalCents - i.TaxCents,
	}
}

// date formats a time of Billing, such as 15 Jan 2027.
func date(unix int64) string { return time.Unix(unix, 0).UTC().Format("2 Jan 2006") }
