package sandbox

import "slices"

// look reads the state under the lock, after the pages that are due have expired.
func (s *Server) look(f func(st *state)) {
	// f puts no records, so only the write of an expiry can fail, and that is repeated.
	_, _ = s.locked(func(c *change) error {
		f(c.state)
		return nil
	})
}

// Account returns an account.
func (s *Server) Account(id string) (a Account, known bool) {
	s.look(func(st *state) { a, known = st.accounts[id] })
	return a, known
}

// Session returns a payment page.
func (s *Server) Session(id string) (x Session, known bool) {
	s.look(func(st *state) { x, known = st.sessions[id] })
	return x, known
}

// Payment returns a payment.
func (s *Server) Payment(id string) (p Payment, known bool) {
	s.look(func(st *state) { p, known = st.payments[id] })
	return p, known
}

// Accounts lists all accounts, newest first.
func (s *Server) Accounts() (list []Account) {
	s.look(func(st *state) { list = newest(st.order.accounts, st.accounts) })
	return list
}

// Sessions lists the payment pages of an account, newest first; those of all
// accounts for "".
func (s *Server) Sessions(account string) (list []Session) {
	s.look(func(st *state) { list = newest(st.order.sessions, st.sessions) })
	return slices.DeleteFunc(list, func(x Session) bool { return account != "" && x.Account != account })
}

// Payments lists the payments of an account, newest first; those of all accounts for "".
func (s *Server) Payments(account string) (list []Payment) {
	s.look(func(st *state) { list = newest(st.order.payments, st.payments) })
	return slices.DeleteFunc(list, func(p Payment) bool { return account != "" && p.Account != account })
}

// Refunds lists the refunds of a payment, newest first; those of all payments for "".
func (s *Server) Refunds(paymentIntent string) (list []Refund) {
	s.look(func(st *state) { list = newest(st.order.refunds, st.refunds) })
	return slices.DeleteFunc(list, func(r Refund) bool { return paymentIntent != "" && r.PaymentID != paymentIntent })
}

// Onboard finishes the onboarding page for a seller: the account may take charges.
func (s *Server) Onboard(accountID string) error {
	return s.onAccount(accountID, func(a *Account) { a.DetailsSubmitted, a.ChargesEnabled = true, true })
}

// SetCharges allows an account to take charges, or forbids it.
func (s *Server) SetCharges(accountID string, enabled bool) error {
	return s.onAccount(accountID, func(a *Account) { a.ChargesEnabled = enabled })
}

func (s *Server) onAccount(id string, f func(a *Account)) error {
	return s.do(func(c *change) error {
		a, known := c.accounts[id]
		if !known {
			return none("account", id, "")
		}
		f(&a)
		c.updateAccount(a)
		return nil
	})
}

// Pay pays a page by card. email is the buyer's address, unless the page has one.
func (s *Server) Pay(sessionID, email string) (Session, error) {
	return s.onSession(sessionID, func(c *change, x Session) (Session, error) { return c.pay(x, email, false) })
}

// PayLater completes a page with a payment method that takes days. Settle ends
// the payment.
func (s *Server) PayLater(sessionID, email string) (Session, error) {
	return s.onSession(sessionID, func(c *change, x Session) (Session, error) { return c.pay(x, email, true) })
}

// Settle ends the payment of PayLater: it succeeds or fails.
func (s *Server) Settle(sessionID string, ok bool) (Session, error) {
	return s.onSession(sessionID, func(c *change, x Session) (Session, error) { return c.settle(x, ok) })
}

// Reprice changes the total and currency of an open page, like the processor's
// features that sellers switch on, such as prices in the buyer's currency.
func (s *Server) Reprice(sessionID string, cents int64, currency string) error {
	_, err := s.onSession(sessionID, func(c *change, x Session) (Session, error) {
		if x.Status != StatusOpen {
			return x, refuse("", "", "This page is %s.", x.Status)
		}
		x.SubtotalCents, x.DiscountCents, x.Currency = cents, 0, currency
		c.put(record{Session: &x})
		return x, nil
	})
	return err
}

// Expire closes an open page before its expiry.
func (s *Server) Expire(sessionID string) (Session, error) {
	return s.onSession(sessionID, func(c *change, x Session) (Session, error) {
		if x.Status != StatusOpen {
			return x, refuse("", "", "This page is %s.", x.Status)
		}
		return c.expire(x), nil
	})
}

func (s *Server) onSession(id string, f func(c *change, x Session) (Session, error)) (x Session, err error) {
	err = s.do(func(c *change) error {
		found, known := c.sessions[id]
		if !known {
			return none("checkout.session", id, "")
		}
		x, err = f(c, found)
		return err
	})
	return x, err
}

// Refund makes a refund at the processor without the platform; 0 cents refund
// all that is left.
func (s *Server) Refund(paymentIntent string, cents int64) (r Refund, err error) {
	err = s.do(func(c *change) error {
		p, known := c.payments[paymentIntent]
		if !known {
			return none("payment_intent", paymentIntent, "")
		}
		r, err = c.refund(p, Refund{AmountCents: cents, Metadata: map[string]string{}}, false)
		return err
	})
	return r, err
}

// RefundsWait makes new refunds pending until SettleRefund, or lets them succeed
// at once again.
func (s *Server) RefundsWait(wait bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refundsWait = wait
}

// SettleRefund ends a pending refund, or makes a succeeded one fail.
func (s *Server) SettleRefund(refundID string, ok bool) (r Refund, err error) {
	err = s.do(func(c *change) error {
		found, known := c.refunds[refundID]
		if !known {
			return none("refund", refundID, "")
		}
		r, err = c.settleRefund(found, ok)
		return err
	})
	return r, err
}
