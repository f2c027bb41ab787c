package sandbox

import "time"

// Customer returns a customer.
func (s *Server) Customer(id string) (u Customer, known bool) {
	s.look(func(st *state) { u, known = st.customers.rows[id] })
	return u, known
}

// Subscription returns a subscription.
func (s *Server) Subscription(id string) (sub Subscription, known bool) {
	s.look(func(st *state) { sub, known = st.subscriptions.rows[id] })
	return sub, known
}

// Invoice returns an invoice.
func (s *Server) Invoice(id string) (i Invoice, known bool) {
	s.look(func(st *state) { i, known = st.invoices.rows[id] })
	return i, known
}

// Customers lists all customers, newest first.
func (s *Server) Customers() (list []Customer) {
	s.look(func(st *state) { list = st.customers.newest(every) })
	return list
}

// Cards lists the cards of a customer, newest first.
func (s *Server) Cards(customerID string) (list []Card) {
	s.look(func(st *state) { list = st.cards.newest(func(d Card) bool { return d.CustomerID == customerID }) })
	return list
}

// Subscriptions lists all subscriptions, newest first.
func (s *Server) Subscriptions() (list []Subscription) {
	s.look(func(st *state) { list = st.subscriptions.newest(every) })
	return list
}

// Invoices lists all invoices, newest first.
func (s *Server) Invoices() (list []Invoice) {
	s.look(func(st *state) { list = st.invoices.newest(every) })
	return list
}

// Price returns a price.
func (s *Server) Price(id string) (p Price, known bool) {
	s.look(func(st *state) { p, known = st.prices[id] })
	return p, known
}

// Schedules lists all subscription schedules, newest first.
func (s *Server) Schedules() (list []Schedule) {
	s.look(func(st *state) { list = st.schedules.newest(every) })
	return list
}

// CompleteCheckout completes a page with the mode subscription, as a buyer does who enters a card number and confirms 3-D Secure. A
// declined card leaves the page open and returns an error.
func (s *Server) CompleteCheckout(sessionID, card string) (Session, error) {
	return s.onSession(sessionID, func(c *change, x Session) (Session, error) {
		if x.Plan == nil {
			return x, refuse("", "", "This page starts no subscription.")
		}
		return c.subscribe(x, buyer{email: "buyer@example.test", card: card, country: "DE"})
	})
}

// UseCard saves a card for a customer, without 3-D Secure, and charges it from now on: it becomes the default card of the customer and of
// the subscriptions.
func (s *Server) UseCard(customerID, number string) (card Card, err error) {
	err = s.do(func(c *change) error {
		u, err := c.customer(customerID, "")
		if err != nil {
			return err
		}
		if card, err = c.attach(c.newCard(number), u); err != nil {
			return err
		}
		c.makeDefault(u, card.ID)
		return nil
	})
	return card, err
}

// RemoveCards detaches all cards of a customer.
func (s *Server) RemoveCards(customerID string) error {
	return s.do(func(c *change) error {
		for _, card := range c.cards.oldest(func(d Card) bool { return d.CustomerID == customerID }) {
			c.detach(card)
		}
		return nil
	})
}

// PayInvoice pays an open invoice on its page with a card that pays.
func (s *Server) PayInvoice(id string) (Invoice, error) { return s.PayInvoiceWith(id, CardPays) }

// PayInvoiceWith pays an open invoice on its page with a card, whose holder confirms 3-D Secure. The card is not saved. A declined card
// returns an error; the attempt stays.
func (s *Server) PayInvoiceWith(id, number string) (i Invoice, err error) {
	var failure error
	err = s.do(func(c *change) error {
		found, known := c.invoices.rows[id]
		switch {
		case !known || found.Status == Draft:
			return none("invoice", id, "")
		case found.Status == Paid:
			return refuse("", "", "This invoice has been paid already.")
		case found.Status == Void:
			return refuse("", "", "This invoice is void.")
		}
		card := c.newCard(number)
		card.CustomerID = found.CustomerID
		c.set(billingRecord{Card: &card})
		failure = c.attempt(found.ID, card.ID, true, false)
		card = c.cards.rows[card.ID]
		card.CustomerID = ""
		c.set(billingRecord{Card: &card})
		i = c.invoices.rows[id]
		return nil
	})
	if err == nil {
		err = failure
	}
	return i, err
}

// DelayUsage lets meter events that come from now on appear in summaries and invoices only after d of Billing's clock, as the processor
// handles events asynchronously. It is rounded down to seconds. An invoice that is finalized earlier never has them.
func (s *Server) DelayUsage(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usageDelay = d
}

// EndDunning sets the status of a subscription whose last retry fails from now on: Unpaid or Canceled.
func (s *Server) EndDunning(status string) error {
	if status != Unpaid && status != Canceled {
		return invalid("", "", "Dunning ends with unpaid or canceled.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.DunningEnd = status
	return nil
}

// CancelInPortal cancels a subscription at its period's end, or renews it, as the customer does in the portal.
func (s *Server) CancelInPortal(subscriptionID string, cancel bool) (sub Subscription, err error) {
	err = s.do(func(c *change) error {
		found, known := c.subscriptions.rows[subscriptionID]
		if !known || found.ended() {
			return none("subscription", subscriptionID, "")
		}
		c.portalCancel(found, cancel, false)
		sub = c.subscriptions.rows[subscriptionID]
		return nil
	})
	return sub, err
}
