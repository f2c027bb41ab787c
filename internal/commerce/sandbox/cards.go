//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"slices"
	"strings"
)

// Card is a payment method.
type Card struct {
	ID      string `json:"id"`
	Seq     uint64 `json:"seq"`
	Created int64  `json:"created"`
	// CustomerID is "" for a detached card.
	CustomerID string `json:"customerId"`
	Number     string `json:"number"`
	// Authenticated: the buyer has confirmed the card with 3-D Secure when it was saved.
	Authenticated bool `json:"authenticated"`
}

// Numbers of test cards. Every other number pays too.
const (
	// CardPays pays always.
	CardPays = "4242424242424242"
	// CardFailsLater can be saved; each charge of it is declined.
	CardFailsLater = "4000000000000341"
	// CardDeclined is declined, also when it is saved.
	CardDeclined = declined
	// CardWithoutFunds is declined for insufficient funds, also when it is saved.
	CardWithoutFunds = "4000000000009995"
	// CardAuthenticatesOnce needs 3-D Secure until the buyer has confirmed it once.
	CardAuthenticatesOnce = "4000002500003155"
	// CardAuthenticates needs 3-D Secure for each charge.
	CardAuthenticates = "4000002760003184"
)

// digits returns the digits of a card number.
func digits(number string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, number)
}

// newCard returns a card that has no customer yet.
func (c *change) newCard(number string) Card {
	return Card{ID: newID("pm_"), Seq: c.next(), Created: c.unix(), Number: digits(number)}
}

// authenticates reports whether a buyer who is present must confirm a charge with 3-D Secure.
func authenticates(number string) bool {
	return slices.Contains([]string{CardAuthenticates, CardAuthenticatesOnce}, digits(number))
}

// cardError is the type of an error of a card.
const cardError = "card_error"

// declinedError is a declined charge: 402 with the processor's codes.
func declinedError(reason string) *refusal {
	message := map[string]string{
		"insufficient_funds": "Your card has insufficient funds.",
	}[reason]
	if message == "" {
		message = "Your card was declined."
	}
	return &refusal{status: 402, kind: cardError, code: "card_declined", declineCode: reason, message: message, kept: true}
}

// canSave returns why the card can't be saved, or nil.
func (d Card) canSave() error {
	switch d.Number {
	case CardDeclined:
		return declinedError("generic_decline")
	case CardWithoutFunds:
		return declinedError("insufficient_funds")
	}
	if len(d.Number) < 12 || len(d.Number) > 19 {
		return &refusal{
			status: 402, kind: cardError, code: "incorrect_number", param: "number", message: "Your card number is incorrect.", kept: true,
		}
	}
	return nil
}

// charge returns why a charge fails, or nil. present: the buyer confirms it with 3-D Secure now.
func (d Card) charge(present bool) error {
	if err := d.canSave(); err != nil {
		return err
	}
	switch {
	case d.Number == CardFailsLater:
		return declinedError("generic_decline")
	case d.Number == CardAuthenticates && !present, d.Number == CardAuthenticatesOnce && !present && !d.Authenticated:
		return &refusal{
			status: 402, kind: cardError, code: "authentication_required", declineCode: "authentication_required", kept: true,
			message: "Your card was declined. This transaction requires authentication.",
		}
	}
	return nil
}

// tokens are the processor's test payment methods that need no page.
func tokens() map[string]string {
	return map[string]string{
		"pm_card_visa": CardPays, "pm_card_mastercard": "5555555555554444", "pm_card_chargeCustomerFail": CardFailsLater,
		"pm_card_chargeDeclined": CardDeclined, "pm_card_visa_chargeDeclined": CardDeclined,
		"pm_card_chargeDeclinedInsufficientFunds": CardWithoutFunds, "pm_card_visa_chargeDeclinedInsufficientFunds": CardWithoutFunds,
		"pm_card_authenticationRequired":             CardAuthenticates,
		"pm_card_authenticationRequiredOnSetup":      CardAuthenticatesOnce,
		"pm_card_authenticationRequiredSetupForOffS": CardAuthenticatesOnce,
	}
}

// cardFor returns the card of an id, or a new one for a test payment method.
func (c *change) cardFor(id string) (Card, error) {
	if number, known := tokens()[id]; known {
		return c.newCard(number), nil
	}
	card, known := c.cards.rows[id]
	if !known {
		return card, none("PaymentMethod", id, "payment_method")
	}
	return card, nil
}

// attach attaches a card to a customer.
func (c *change) attach(card Card, u Customer) (Card, error) {
	if card.CustomerID == u.ID {
		return card, nil
	}
	if card.CustomerID != "" {
		return card, refuse("", "", "The payment method you provided has already been attached to a customer.")
	}
	if err := card.canSave(); err != nil {
		return card, err
	}
	card.CustomerID = u.ID
	c.set(billingRecord{Card: &card})
	c.report("payment_method.attached", card.render())
	return card, nil
}

// detach removes a card from its customer. Subscriptions with it use the customer's default from then on.
func (c *change) detach(card Card) Card {
	u, before := c.customers.rows[card.CustomerID], card.render()
	card.CustomerID = ""
	c.set(billingRecord{Card: &card})
	c.reportUpdate("payment_method.detached", before, card.render())
	if u.DefaultCard == card.ID {
		before := c.renderCustomer(u)
		u.DefaultCard = ""
		c.set(billingRecord{Customer: &u})
		c.reportUpdate("customer.updated", before, c.renderCustomer(u))
	}
	for _, sub := range c.subscriptions.oldest(func(sub Subscription) bool { return sub.DefaultCard == card.ID && !sub.ended() }) {
		c.update(sub, func(sub *Subscription) { sub.DefaultCard = "" })
	}
	return card
}

// makeDefault makes a card the one of the customer's next charges, also of subscriptions with a card of their own.
func (c *change) makeDefault(u Customer, cardID string) {
	before := c.renderCustomer(u)
	u.DefaultCard = cardID
	c.set(billingRecord{Customer: &u})
	c.reportUpdate("customer.updated", before, c.renderCustomer(u))
	for _, sub := range c.subscriptions.oldest(func(sub Subscription) bool { return sub.CustomerID == u.ID && !sub.ended() }) {
		if sub.DefaultCard != "" {
			c.update(sub, func(sub *Subscription) { sub.DefaultCard = cardID })
		}
	}
}

func listCards(c *call) (any, error) {
	id := c.r.PathValue("id")
	if id == "" {
		id = c.must("customer")
	}
	c.oneOf("type", "card")
	if _, err := c.customer(id, "customer"); err != nil && *c.fault == nil {
		return nil, err
	}
	return pageOf(c, &c.cards, func(d Card) bool { return d.CustomerID == id }, func(d Card) string { return d.ID },
		func(d Card) int64 { return d.Created }, func(d Card) any { return d.render() })
}

func getCard(c *call) (any, error) {
	if err := c.done(); err != nil {
		return nil, err
	}
	card, known := c.cards.rows[c.r.PathValue("pm")]
	if id := c.r.PathValue("id"); !known || id != "" && card.CustomerID != id {
		return nil, none("PaymentMethod", c.r.PathValue("pm"), "")
	}
	return card.render(), nil
}

func attachCard(c *call) (any, error) {
	id := c.must("customer")
	if err := c.done(); err != nil {
		return nil, err
	}
	u, err := c.customer(id, "customer")
	if err != nil {
		return nil, err
	}
	card, err := c.cardFor(c.r.PathValue("pm"))
	if err != nil {
		return nil, err
	}
	if card, err = c.attach(card, u); err != nil {
		return nil, err
	}
	return card.render(), nil
}

func detachCard(c *call) (any, error) {
	if err := c.done(); err != nil {
		return nil, err
	}
	card, known := c.cards.rows[c.r.PathValue("pm")]
	if !known {
		return nil, none("PaymentMethod", c.r.PathValue("pm"), "")
	}
	if card.CustomerID == "" {
		return nil, refuse("", "", "The payment method you provided is not attached to a customer so detachment is impossible.")
	}
	return c.detach(card).render(), nil
}

func (d Card) brand() string {
	switch {
	case strings.HasPrefix(d.Number, "5"):
		return "mastercard"
	case strings.HasPrefix(d.Number, "3"):
		return "amex"
	default:
		return "visa"
	}
}

// last4 returns the last 4 digits.
func (d Card) last4() string { return d.Number[max(0, len(d.Number)-4):] }

func (d Card) render() object {
	return object{
		"id": d.ID, "object": "payment_method", "created": d.Created, "livemode": false, "type": "card", "customer": nullable(d.CustomerID),
		"metadata": object{}, "billing_details": object{"email": nil, "name": nil, "phone": nil, "address": object{}},
		"card": object{
			"brand": d.brand(), "last4": d.last4(), "exp_month": 12, "exp_year": 2034, "country": "US", "funding": "credit",
			"fingerprint": "fp_" + d.Number, "three_d_secure_usage": object{"supported": true},
		},
	}
}
