//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import "slices"

func invoiceRoutes() map[string]func(*call) (any, error) {
	return map[string]func(*call) (any, error){
		"GET /v1/invoices":                          listInvoices,
		"POST /v1/invoices":                         createInvoice,
		"GET /v1/invoices/{id}":                     getInvoice,
		"POST /v1/invoices/{id}":                    updateInvoice,
		"GET /v1/invoices/{id}/lines":               listInvoiceLines,
		"POST /v1/invoices/{id}/pay":                payInvoice,
		"POST /v1/invoices/{id}/finalize":           finalizeInvoice,
		"POST /v1/invoices/{id}/void":               voidInvoice,
		"POST /v1/invoices/{id}/mark_uncollectible": writeOffInvoice,
		"POST /v1/invoices/{id}/send":               sendInvoice,
		"POST /v1/invoiceitems":                     createInvoiceItem,
	}
}

// invoice returns the invoice of the path, after the parameters are read.
func (c *call) invoice() (Invoice, error) {
	if err := c.done(); err != nil {
		return Invoice{}, err
	}
	i, known := c.invoices.rows[c.r.PathValue("id")]
	if !known {
		return i, none("invoice", c.r.PathValue("id"), "id")
	}
	return i, nil
}

func getInvoice(c *call) (any, error) {
	i, err := c.invoice()
	if err != nil {
		return nil, err
	}
	return c.renderInvoice(i), nil
}

func listInvoices(c *call) (any, error) {
	customer, sub := c.listedCustomer(), c.text("subscription")
	status := c.oneOf("status", "", Draft, StatusOpen, Paid, Uncollectible, Void)
	method := c.oneOf("collection_method", "", "charge_automatically", "send_invoice")
	return pageOf(c, &c.invoices, func(i Invoice) bool {
		return (customer == "" || i.CustomerID == customer) && (sub == "" || i.SubscriptionID == sub) && (status == "" || i.Status == status) &&
			(method == "" || i.SendsInvoice == (method == "send_invoice"))
	}, func(i Invoice) string { return i.ID }, func(i Invoice) int64 { return i.Created }, func(i Invoice) any { return c.renderInvoice(i) })
}

func listInvoiceLines(c *call) (any, error) {
	i, known := c.invoices.rows[c.r.PathValue("id")]
	if !known {
		return nil, none("invoice", c.r.PathValue("id"), "id")
	}
	return page(c, i.Lines, func(l InvoiceLine) string { return l.ID }, func(InvoiceLine) int64 { return i.Created },
		func(l InvoiceLine) any { return renderLine(i, l, c.prices[l.PriceID]) })
}

// createInvoice bills the customer's pending items, if pending_invoice_items_behavior is include.
func createInvoice(c *call) (any, error) {
	sub := Subscription{CustomerID: c.must("customer")}
	_, unknown := c.customer(sub.CustomerID, "customer")
	c.readCollection(&sub)
	include := c.oneOf("pending_invoice_items_behavior", "exclude", "include") == "include"
	i := c.newInvoice(sub.CustomerID, nil, "manual")
	i.Currency, i.Metadata, i.Description = c.text("currency"), c.metadata(), c.text("description")
	i.AutoAdvance = c.flagOr("auto_advance", false)
	i.SendsInvoice, i.DaysUntilDue, i.DefaultCard, i.Tax = sub.SendsInvoice, sub.DaysUntilDue, sub.DefaultCard, sub.Tax
	if err := c.done(); err != nil {
		return nil, err
	}
	if unknown != nil {
		return nil, unknown
	}
	if include {
		i.Lines = c.takePending(&i, i.CustomerID, "")
	}
	if i.Currency == "" {
		if i.Currency = c.customers.rows[i.CustomerID].Currency; i.Currency == "" {
			i.Currency = "usd"
		}
	}
	if i.AutoAdvance {
		i.FinalizesAt = c.unix() + hour
	}
	c.compute(&i)
	c.set(billingRecord{Invoice: &i})
	c.report("invoice.created", c.renderInvoice(i))
	return c.renderInvoice(i), nil
}

func updateInvoice(c *call) (any, error) {
	i, known := c.invoices.rows[c.r.PathValue("id")]
	before := i
	i.Description, i.Metadata = c.textOr("description", i.Description), c.merged(i.Metadata)
	i.AutoAdvance = c.flagOr("auto_advance", i.AutoAdvance)
	i.DefaultCard = c.textOr("default_payment_method", i.DefaultCard)
	if err := c.done(); err != nil {
		return nil, err
	}
	if !known {
		return nil, none("invoice", c.r.PathValue("id"), "id")
	}
	if i.Status == Draft && i.AutoAdvance && i.FinalizesAt == 0 {
		i.FinalizesAt = c.unix() + hour
	}
	if !i.AutoAdvance {
		i.FinalizesAt, i.NextAttempt = 0, 0
	}
	c.setInvoice(before, i)
	return c.renderInvoice(i), nil
}

// payInvoice charges an invoice: a declined card answers 402, and the attempt stays.
func payInvoice(c *call) (any, error) {
	cardID, outOfBand := c.text("payment_method"), c.flag("paid_out_of_band")
	c.ignore("off_session", "forgive")
	i, err := c.invoice()
	if err != nil {
		return nil, err
	}
	if i.Status == Draft {
		i = c.finalize(i)
	}
	switch {
	case i.Status == Paid && i.FinalizedAt == c.unix() && i.DueCents == 0:
		return c.renderInvoice(i), nil
	case i.Status == Paid:
		return nil, refuse("", "", "Invoice is already paid")
	case i.Status == Void:
		return nil, refuse("", "", "This invoice can no longer be paid.")
	case outOfBand:
		i.PaidOutOfBand = true
		c.cancelPayment(i)
		return c.renderInvoice(c.paid(i)), nil
	}
	if cardID == "" {
		cardID = c.cardOfInvoice(i)
	} else if card, known := c.cards.rows[cardID]; !known || card.CustomerID != i.CustomerID {
		return nil, none("PaymentMethod", cardID, "payment_method")
	}
	if err := c.attempt(i.ID, cardID, false, false); err != nil {
		return nil, committed(err)
	}
	return c.renderInvoice(c.invoices.rows[i.ID]), nil
}

// committed marks a refusal whose changes stay.
func committed(err error) error {
	if r, ok := err.(*refusal); ok { //nolint:errorlint // attempt returns it as it is
		r.commits = true
	}
	return err
}

func finalizeInvoice(c *call) (any, error) {
	advance := c.flagOr("auto_advance", true)
	i, err := c.invoice()
	if err != nil {
		return nil, err
	}
	if i.Status != Draft {
		return nil, refuse("invoice_not_editable", "", "This invoice is already finalized, you can't re-finalize a non-draft invoice.")
	}
	i.AutoAdvance = advance
	if i = c.finalize(i); advance && i.Status == StatusOpen && !i.SendsInvoice {
		before := i
		i.NextAttempt = c.unix() + hour
		c.setInvoice(before, i)
	}
	return c.renderInvoice(i), nil
}

func voidInvoice(c *call) (any, error) {
	i, err := c.invoice()
	if err != nil {
		return nil, err
	}
	if i.Status != StatusOpen && i.Status != Uncollectible {
		return nil, refuse("", "", "You can only pass in open invoices. This invoice isn't open.")
	}
	return c.renderInvoice(c.void(i)), nil
}

func writeOffInvoice(c *call) (any, error) {
	i, err := c.invoice()
	if err != nil {
		return nil, err
	}
	if i.Status == Draft {
		i = c.finalize(i)
	}
	if i.Status != StatusOpen {
		return nil, refuse("", "", "You can only pass in open invoices. This invoice isn't open.")
	}
	return c.renderInvoice(c.writeOff(i)), nil
}

func sendInvoice(c *call) (any, error) {
	i, err := c.invoice()
	if err != nil {
		return nil, err
	}
	if !i.SendsInvoice {
		return nil, refuse("", "", "You can only manually send an invoice if its collection method is 'send_invoice'.")
	}
	if i.Status == Draft {
		return c.renderInvoice(c.finalize(i)), nil
	}
	if i.Status != StatusOpen {
		return nil, refuse("", "", "You can only send open invoices.")
	}
	c.report("invoice.sent", c.renderInvoice(i))
	return c.renderInvoice(i), nil
}

// createInvoiceItem adds an amount to a draft, or to the next invoice.
func createInvoiceItem(c *call) (any, error) {
	item := PendingItem{
		ID: newID("ii_"), Created: c.unix(), CustomerID: c.must("customer"), SubscriptionID: c.text("subscription"),
		Cents: c.whole("amount", 0), Currency: c.text("currency"), Description: c.text("description"), Quantity: c.amount("quantity", 0, 1),
		PriceID: c.text("price"), Metadata: c.metadata(), Start: c.unix(), End: c.unix(),
	}
	invoiceID := c.text("invoice")
	if f := c.at("period"); c.has("period") {
		item.Start, item.End = f.whole("start", item.Start), f.whole("end", item.End)
	}
	unit := c.whole("unit_amount", 0)
	c.ignore("discountable", "tax_behavior", "tax_code")
	if err := c.done(); err != nil {
		return nil, err
	}
	u, err := c.customer(item.CustomerID, "customer")
	if err != nil {
		return nil, err
	}
	if item.PriceID != "" {
		p, known := c.prices[item.PriceID]
		if !known || p.Account != "" {
			return nil, none("price", item.PriceID, "price")
		}
		item.Cents, item.Currency = p.cents(item.Quantity), p.Currency
	} else if unit != 0 {
		item.Cents = unit * item.Quantity
	}
	if item.Currency == "" {
		return nil, missing("currency")
	}
	if sub, known := c.subscriptions.rows[item.SubscriptionID]; item.SubscriptionID != "" && (!known || sub.CustomerID != u.ID) {
		return nil, none("subscription", item.SubscriptionID, "subscription")
	}
	c.set(billingRecord{Pending: &item})
	c.report("invoiceitem.created", item.render())
	if invoiceID == "" {
		return item.render(), nil
	}
	i, known := c.invoices.rows[invoiceID]
	if !known || i.CustomerID != u.ID {
		return nil, none("invoice", invoiceID, "invoice")
	}
	if i.Status != Draft {
		return nil, refuse("invoice_not_editable", "invoice", "The invoice is no longer editable.")
	}
	before := i
	item.InvoiceID = i.ID
	c.set(billingRecord{Pending: &item})
	i.Lines = append(slices.Clip(i.Lines), InvoiceLine{
		ID: newID("il_"), Cents: item.Cents, Description: item.Description, PriceID: item.PriceID, Quantity: item.Quantity, Start: item.Start,
		End: item.End, PendingID: item.ID, Metadata: item.Metadata,
	})
	c.compute(&i)
	c.setInvoice(before, i)
	return item.render(), nil
}

func (p PendingItem) render() object {
	return object{
		"id": p.ID, "object": "invoiceitem", "amount": p.Cents, "currency": p.Currency, "customer": p.CustomerID, "date": p.Created,
		"description": nullable(p.Description), "invoice": nullable(p.InvoiceID), "livemode": false, "metadata": p.Metadata,
		"period": object{"start": p.Start, "end": p.End}, "proration": p.Proration, "quantity": p.Quantity,
		"subscription": nullable(p.SubscriptionID), "discountable": !p.Proration,
	}
}
