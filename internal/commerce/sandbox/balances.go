//nolint:goconst // names of JSON fields are clearest in place
package sandbox

// adjustBalance adds an amount to a customer's balance; an amount below 0 is a credit for the next invoices.
func adjustBalance(c *call) (any, error) {
	cents, currency, text, metadata := c.whole("amount", 0), c.must("currency"), c.text("description"), c.metadata()
	if err := c.done(); err != nil {
		return nil, err
	}
	u, err := c.customer(c.r.PathValue("id"), "id")
	if err != nil {
		return nil, err
	}
	if u.Currency != "" && u.Currency != currency {
		return nil, invalid("", "currency", "The currency must be the customer's: %s.", u.Currency)
	}
	before := c.renderCustomer(u)
	u.BalanceCents += cents
	u.Currency = currency
	c.set(billingRecord{Customer: &u})
	c.reportUpdate("customer.updated", before, c.renderCustomer(u))
	return object{
		"id": newID("cbtxn_"), "object": "customer_balance_transaction", "amount": cents, "created": c.unix(), "currency": currency,
		"customer": u.ID, "description": nullable(text), "ending_balance": u.BalanceCents, "livemode": false, "metadata": metadata,
		"type": "adjustment", "invoice": nil, "credit_note": nil,
	}, nil
}
