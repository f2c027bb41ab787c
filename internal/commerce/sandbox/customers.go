//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"fmt"
	"strings"
)

// Customer is a buyer who may have subscriptions.
type Customer struct {
	ID       string            `json:"id"`
	Seq      uint64            `json:"seq"`
	Created  int64             `json:"created"`
	Deleted  bool              `json:"deleted"`
	Email    string            `json:"email"`
	Name     string            `json:"name"`
	Phone    string            `json:"phone"`
	Metadata map[string]string `json:"metadata"`
	Address  map[string]string `json:"address"`
	// DefaultCard is invoice_settings.default_payment_method.
	DefaultCard string `json:"defaultCard"`
	// BalanceCents is what the next invoice adds; below 0 it is a credit.
	BalanceCents int64  `json:"balanceCents"`
	Currency     string `json:"currency"`
	// Prefix and Invoices number the customer's invoices.
	Prefix   string `json:"prefix"`
	Invoices int    `json:"invoices"`
	TaxID    string `json:"taxId"`
}

func customerRoutes() map[string]func(*call) (any, error) {
	return map[string]func(*call) (any, error){
		"POST /v1/customers":                           createCustomer,
		"GET /v1/customers":                            listCustomers,
		"GET /v1/customers/{id}":                       getCustomer,
		"POST /v1/customers/{id}":                      updateCustomer,
		"DELETE /v1/customers/{id}":                    deleteCustomer,
		"POST /v1/customers/{id}/balance_transactions": adjustBalance,
		"GET /v1/customers/{id}/payment_methods":       listCards,
		"GET /v1/customers/{id}/payment_methods/{pm}":  getCard,
		"GET /v1/payment_methods":                      listCards,
		"GET /v1/payment_methods/{pm}":                 getCard,
		"POST /v1/payment_methods/{pm}/attach":         attachCard,
		"POST /v1/payment_methods/{pm}/detach":         detachCard,
		"POST /v1/products/{id}":                       updateProduct,
		"GET /v1/products":                             listProducts,
		"POST /v1/prices/{id}":                         updatePrice,
		"GET /v1/prices":                               listPrices,
		"POST /v1/promotion_codes":                     createCode,
		"GET /v1/promotion_codes":                      listCodes,
	}
}

// newCustomer returns a customer with the next number.
func (c *change) newCustomer() Customer {
	return Customer{
		ID: newID("cus_"), Seq: c.next(), Created: c.unix(), Metadata: map[string]string{},
		Prefix: fmt.Sprintf("SB-%04d", len(c.customers.ids)+1),
	}
}

// readCustomer reads the fields that a creation and an update share.
func (c *call) readCustomer(u *Customer) {
	u.Email, u.Name, u.Phone = c.textOr("email", u.Email), c.textOr("name", u.Name), c.textOr("phone", u.Phone)
	u.Metadata = c.merged(u.Metadata)
	u.BalanceCents = c.whole("balance", u.BalanceCents)
	u.Address = c.readAddress(u.Address)
	if f := c.at("invoice_settings"); f.has("default_payment_method") {
		u.DefaultCard = f.text("default_payment_method")
		if card, known := c.cards.rows[u.DefaultCard]; u.DefaultCard != "" && (!known || card.CustomerID != u.ID) {
			c.fail(none("PaymentMethod", u.DefaultCard, "invoice_settings[default_payment_method]"))
		}
	}
	if u.Email != "" && !strings.Contains(u.Email, "@") {
		c.fail(invalid("email_invalid", "email", "Invalid email address: %s", u.Email))
	}
	c.ignore("description", "preferred_locales", "tax_exempt", "invoice_settings", "tax")
}

func (c *call) readAddress(before map[string]string) map[string]string {
	if !c.has("address") {
		return before
	}
	f, address := c.at("address"), map[string]string{}
	if c.values.Has("address") {
		c.read["address"] = true
		return nil
	}
	for _, name := range []string{"line1", "line2", "city", "state", "postal_code", "country"} {
		if v := f.text(name); v != "" {
			address[name] = v
		}
	}
	return address
}

func createCustomer(c *call) (any, error) {
	u := c.newCustomer()
	c.readCustomer(&u)
	method := c.text("payment_method")
	if err := c.done(); err != nil {
		return nil, err
	}
	if method != "" {
		card, err := c.cardFor(method)
		if err != nil {
			return nil, err
		}
		c.set(billingRecord{Customer: &u})
		if _, err := c.attach(card, u); err != nil {
			return nil, err
		}
	}
	c.set(billingRecord{Customer: &u})
	c.report("customer.created", c.renderCustomer(u))
	return c.renderCustomer(u), nil
}

// customer returns a customer who isn't deleted.
func (c *change) customer(id, param string) (Customer, error) {
	u, known := c.customers.rows[id]
	if !known || u.Deleted {
		return u, none("customer", id, param)
	}
	return u, nil
}

// listedCustomer reads the customer of a list; "" for those of all customers.
func (c *call) listedCustomer() string {
	if !c.has("customer") {
		return ""
	}
	id := c.must("customer")
	if _, known := c.customers.rows[id]; id != "" && !known {
		c.fail(none("customer", id, "customer"))
	}
	return id
}

func getCustomer(c *call) (any, error) {
	if err := c.done(); err != nil {
		return nil, err
	}
	u, known := c.customers.rows[c.r.PathValue("id")]
	if !known {
		return nil, none("customer", c.r.PathValue("id"), "id")
	}
	return c.renderCustomer(u), nil
}

func listCustomers(c *call) (any, error) {
	email := c.text("email")
	return pageOf(c, &c.customers, func(u Customer) bool { return !u.Deleted && (email == "" || u.Email == email) },
		func(u Customer) string { return u.ID }, func(u Customer) int64 { return u.Created },
		func(u Customer) any { return c.renderCustomer(u) })
}

func updateCustomer(c *call) (any, error) {
	u, err := c.customer(c.r.PathValue("id"), "id")
	if err != nil {
		return nil, err
	}
	before := c.renderCustomer(u)
	c.readCustomer(&u)
	if err := c.done(); err != nil {
		return nil, err
	}
	c.set(billingRecord{Customer: &u})
	c.reportUpdate("customer.updated", before, c.renderCustomer(u))
	return c.renderCustomer(u), nil
}

// deleteCustomer also ends the customer's subscriptions.
func deleteCustomer(c *call) (any, error) {
	if err := c.done(); err != nil {
		return nil, err
	}
	u, err := c.customer(c.r.PathValue("id"), "id")
	if err != nil {
		return nil, err
	}
	for _, sub := range c.subscriptions.oldest(func(sub Subscription) bool { return sub.CustomerID == u.ID && !sub.ended() }) {
		c.cancel(sub)
	}
	u = c.customers.rows[u.ID]
	about := c.renderCustomer(u)
	for _, card := range c.cards.oldest(func(card Card) bool { return card.CustomerID == u.ID }) {
		card.CustomerID = ""
		c.set(billingRecord{Card: &card})
	}
	u.Deleted, u.DefaultCard = true, ""
	c.set(billingRecord{Customer: &u})
	c.report("customer.deleted", about)
	return object{"id": u.ID, "object": "customer", "deleted": true}, nil
}

func (c *change) renderCustomer(u Customer) object {
	if u.Deleted {
		return object{"id": u.ID, "object": "customer", "deleted": true}
	}
	return object{
		"id": u.ID, "object": "customer", "created": u.Created, "livemode": false, "email": nullable(u.Email), "name": nullable(u.Name),
		"phone": nullable(u.Phone), "metadata": u.Metadata, "address": renderAddress(u.Address), "balance": u.BalanceCents,
		"currency": nullable(u.Currency), "delinquent": c.delinquent(u), "description": nil, "invoice_prefix": u.Prefix,
		"next_invoice_sequence": u.Invoices + 1, "default_source": nil, "tax_exempt": "none",
		"invoice_settings": object{"default_payment_method": nullable(u.DefaultCard), "custom_fields": nil, "footer": nil},
	}
}

// delinquent reports whether a charge of an open invoice of the customer failed.
func (c *change) delinquent(u Customer) bool {
	for _, i := range c.invoices.rows {
		if i.CustomerID == u.ID && i.Status == StatusOpen && (i.Failed || i.Overdue) {
			return true
		}
	}
	return false
}

func renderAddress(a map[string]string) any {
	if a == nil {
		return nil
	}
	rendered := object{}
	for _, name := range []string{"line1", "line2", "city", "state", "postal_code", "country"} {
		rendered[name] = nullable(a[name])
	}
	return rendered
}
