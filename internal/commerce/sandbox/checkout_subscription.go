//nolint:goconst // names of fields are clearest in place
package sandbox

import (
	"slices"
	"strings"
)

// CheckoutPlan is what a page with the mode subscription starts.
type CheckoutPlan struct {
	Items []Item `json:"items"`
	// Once are the one-time amounts of the first invoice.
	Once        []PendingItem     `json:"once"`
	TrialDays   int64             `json:"trialDays"`
	TrialEnd    int64             `json:"trialEnd"`
	WithoutCard string            `json:"withoutCard"`
	Metadata    map[string]string `json:"metadata"`
	Text        string            `json:"description"`
	// CardIfRequired: the page asks for a card only if there is something to pay now.
	CardIfRequired bool `json:"cardIfRequired"`
	AllowCodes     bool `json:"allowCodes"`
	Tax            bool `json:"tax"`
	// NeedsAddress: the page asks for the buyer's country. SavesAddress: the customer gets it.
	NeedsAddress   bool   `json:"needsAddress"`
	SavesAddress   bool   `json:"savesAddress"`
	TaxCents       int64  `json:"taxCents"`
	CodeID         string `json:"codeId"`
	SubscriptionID string `json:"subscriptionId"`
	InvoiceID      string `json:"invoiceId"`
}

// leastTrial is the processor's least time to a page's trial_end, in seconds.
const leastTrial = 2 * day

// createPlanPage makes a page with the mode subscription.
func (c *call) createPlanPage(x Session) (any, error) {
	if c.account != "" {
		return nil, invalid("", "mode", "The sandbox has Billing only for the platform's own account: send no Stripe-Account header.")
	}
	p := &CheckoutPlan{
		CardIfRequired: c.oneOf("payment_method_collection", "always", "if_required") == "if_required",
		AllowCodes:     c.flag("allow_promotion_codes"), Tax: c.at("automatic_tax").flag("enabled"),
		NeedsAddress: c.oneOf("billing_address_collection", "auto", "required") == "required",
		SavesAddress: c.at("customer_update").oneOf("address", "never", "auto") == "auto",
	}
	x.Plan, x.CustomerID = p, c.text("customer")
	c.at("customer_update").oneOf("name", "never", "auto")
	c.readPlan(x)
	c.readPlanLines(&x)
	c.readPlanDiscount(&x)
	c.ignore("consent_collection", "currency", "custom_text", "custom_fields", "customer_update", "locale", "payment_method_types",
		"payment_method_options", "phone_number_collection", "tax_id_collection", "ui_mode", "submit_type")
	wants := c.wants()
	if err := c.done(); err != nil {
		return nil, err
	}
	if err := c.checkPlan(&x); err != nil {
		return nil, err
	}
	c.sumPage(&x)
	c.put(record{Session: &x})
	return c.renderSession(x, wants), nil
}

// readPlan reads subscription_data.
func (c *call) readPlan(x Session) {
	f, p := c.at("subscription_data"), x.Plan
	p.Metadata, p.TrialDays, p.WithoutCard = f.metadata(), f.amount("trial_period_days", 1, 0), "create_invoice"
	if f.has("trial_settings") {
		p.WithoutCard = f.at("trial_settings").at("end_behavior").oneOf("missing_payment_method", "create_invoice", "cancel", "pause")
	}
	if p.TrialEnd = c.readTrial(f, c.unix()); p.TrialDays > 0 {
		p.TrialEnd = 0 // counted from the completion
	} else if p.TrialEnd > 0 && p.TrialEnd < c.unix()+leastTrial {
		f.fail(invalid("", f.key("trial_end"), "The `trial_end` date has to be at least 2 days in the future."))
	}
	p.Text = f.text("description")
	f.ignore("proration_behavior")
}

// readPlanLines reads line_items: recurring prices, and one-time prices for the first invoice.
func (c *call) readPlanLines(x *Session) {
	items := c.list("line_items")
	if len(items) == 0 {
		c.fail(missing("line_items"))
	}
	if len(items) > maxItems {
		c.fail(invalid("", "line_items", "You can have at most %d line items.", maxItems))
		return
	}
	for _, f := range items {
		f.ignore("adjustable_quantity")
		price := c.planPrice(f)
		product := c.products[price.ProductID]
		line := Line{
			ID: newID("li_"), PriceID: price.ID, ProductID: product.ID,
			Name: product.Name, Description: product.Description, Images: product.Images,
			UnitCents: price.UnitCents, Interval: price.Interval, Every: price.Every, Metered: price.Metered,
		}
		if !price.Metered {
			if line.Quantity = f.amount("quantity", 1, 0); line.Quantity == 0 {
				f.fail(missing(f.key("quantity")))
			}
			line.Cents = price.cents(line.Quantity)
		}
		if price.Interval == "" {
			x.Plan.Once = append(x.Plan.Once, PendingItem{
				ID: newID("ii_"), Currency: price.Currency, Cents: line.Cents, Description: product.Name, PriceID: price.ID,
				Quantity: line.Quantity,
				Metadata: map[string]string{},
			})
		} else {
			x.Plan.Items = append(x.Plan.Items, Item{
				ID: newID("si_"), PriceID: price.ID, Quantity: line.Quantity, Metadata: map[string]string{},
			})
		}
		if x.Currency == "" {
			x.Currency = price.Currency
		}
		x.Lines = append(x.Lines, line)
	}
}

// planPrice returns the price of a line, or a new one from price_data.
func (c *call) planPrice(f form) Price {
	id := f.text("price")
	if (id == "") == !f.has("price_data") {
		f.fail(invalid("", f.prefix, "You must specify either `price` or `price_data` for each line item."))
		return Price{}
	}
	if id != "" {
		p, known := c.prices[id]
		if !known || p.Account != "" {
			f.fail(none("price", id, f.key("price")))
		}
		if p.Inactive {
			f.fail(refuse("", f.key("price"), "The price specified is inactive. This field only accepts active prices."))
		}
		return p
	}
	data := f.at("price_data")
	p := data.price(c)
	if p.ProductID = data.text("product"); p.ProductID == "" {
		product := data.at("product_data").product(c)
		p.ProductID = product.ID
		c.put(record{Product: &product})
	} else if product, known := c.products[p.ProductID]; !known || product.Account != "" {
		f.fail(none("product", p.ProductID, data.key("product")))
	}
	c.put(record{Price: &p})
	return p
}

func (c *call) readPlanDiscount(x *Session) {
	list := c.list("discounts")
	if len(list) == 0 {
		return
	}
	x.CouponID = list[0].text("coupon")
	if id := list[0].text("promotion_code"); id != "" {
		k, known := c.codes.rows[id]
		if !known || k.Inactive {
			c.fail(none("promotion code", id, "discounts[0][promotion_code]"))
		}
		x.CouponID, x.Plan.CodeID = k.CouponID, k.ID
	}
	if x.Plan.AllowCodes {
		c.fail(invalid("", "", "You may only specify one of these parameters: allow_promotion_codes, discounts."))
	}
}

// checkPlan checks a page against the processor's limits.
func (c *call) checkPlan(x *Session) error {
	if err := c.check(x); err != nil {
		return err
	}
	u, known := c.customers.rows[x.CustomerID]
	switch {
	case len(x.Plan.Items) == 0:
		return invalid("", "line_items", "You must provide at least one recurring price in `subscription` mode when using prices.")
	case x.CustomerID != "" && (!known || u.Deleted):
		return none("customer", x.CustomerID, "customer")
	case x.CustomerID != "" && x.CustomerEmail != "":
		return invalid("", "", "You may only specify one of these parameters: customer, customer_email.")
	case x.CustomerID == "" && c.has("customer_update"):
		return invalid("", "customer_update", "`customer_update` can only be used with `customer`.")
	case x.Plan.Tax && known && u.Address["country"] == "" && !x.Plan.SavesAddress:
		return refuse("customer_tax_location_invalid", "", "Automatic tax calculation in Checkout requires a valid address on the Customer. "+
			"Add a valid address to the Customer or set either `customer_update[address]` to 'auto' or `customer_update[shipping]` to 'auto' "+
			"to save the address entered in Checkout to the Customer.")
	}
	return c.checkItems(x.Plan.Items)
}

// sumPage computes what the buyer pays now.
func (c *change) sumPage(x *Session) {
	i := Invoice{Tax: x.Plan.Tax, CouponID: x.CouponID}
	for _, l := range x.Lines {
		if cents := l.Cents; l.Interval == "" || x.Plan.TrialDays == 0 && x.Plan.TrialEnd == 0 {
			i.Lines = append(i.Lines, InvoiceLine{Cents: cents, PriceID: l.PriceID})
		}
	}
	c.compute(&i)
	x.SubtotalCents, x.DiscountCents, x.Plan.TaxCents = i.SubtotalCents, i.DiscountCents, i.TaxCents-i.InclusiveTaxCents
	if x.PaymentStatus = Unpaid; x.TotalCents() == 0 {
		x.PaymentStatus = NoPayment
	}
}

// needsCard reports whether the page asks for a card.
func (x Session) needsCard() bool {
	return x.Plan == nil || !x.Plan.CardIfRequired || x.TotalCents() > 0
}

// applyCode adds a promotion code to an open page.
func (c *change) applyCode(x Session, name string) (Session, error) {
	k, known := c.codeNamed(strings.TrimSpace(name))
	coupon := c.coupons[Coupon{ID: k.CouponID}.key()]
	switch {
	case x.Plan == nil || !x.Plan.AllowCodes || x.Status != StatusOpen:
		return x, refuse("", "", "This page takes no promotion codes.")
	case !known || !coupon.valid(c.unix()) || coupon.AmountOff > 0 && coupon.Currency != x.Currency:
		return x, refuse("", "", "This code is invalid.")
	}
	x.Plan = new(*x.Plan)
	x.CouponID, x.Plan.CodeID = k.CouponID, k.ID
	c.sumPage(&x)
	c.put(record{Session: &x})
	return x, nil
}

// buyer is what a buyer enters on a page.
type buyer struct {
	email, card, country string
}

// subscribe completes a page: it saves the card, starts the subscription and pays its first invoice. The buyer has confirmed a card that
// needs 3-D Secure. If the card is declined, the page stays open.
func (c *change) subscribe(x Session, b buyer) (Session, error) {
	switch x.Status {
	case StatusComplete:
		return x, refuse("", "", "This page has been paid already.")
	case StatusExpired:
		return x, refuse("", "", "This page has expired.")
	}
	x.Plan = new(*x.Plan)
	u, err := c.pageCustomer(&x, b)
	if err != nil {
		return x, err
	}
	sub := c.newSubscription(u.ID)
	var card *Card
	if x.needsCard() {
		made := c.newCard(b.card)
		made.Authenticated = authenticates(b.card)
		if made, err = c.attach(made, u); err != nil {
			return x, err
		}
		card, sub.DefaultCard = &made, made.ID
	}
	sub.Metadata, sub.Text, sub.WithoutCard, sub.Tax = x.Plan.Metadata, x.Plan.Text, x.Plan.WithoutCard, x.Plan.Tax
	sub.CouponID, sub.CodeID = x.CouponID, x.Plan.CodeID
	sub.Items = slices.Clone(x.Plan.Items)
	for n := range sub.Items {
		sub.Items[n].Created = c.unix()
	}
	if sub.TrialEnd = x.Plan.TrialEnd; x.Plan.TrialDays > 0 {
		sub.TrialEnd = c.unix() + x.Plan.TrialDays*day
	}
	for _, item := range x.Plan.Once {
		item.Created, item.CustomerID, item.SubscriptionID, item.Start, item.End = c.unix(), u.ID, sub.ID, c.unix(), c.unix()
		c.set(billingRecord{Pending: &item})
	}
	if sub, err = c.begin(sub, "error_if_incomplete", card); err != nil {
		return x, err
	}
	x.Status, x.CustomerID, x.Plan.SubscriptionID, x.Plan.InvoiceID = StatusComplete, u.ID, sub.ID, sub.InvoiceID
	if x.PaymentStatus != NoPayment {
		x.PaymentStatus = Paid
	}
	c.put(record{Session: &x})
	c.report("checkout.session.completed", x.render(""))
	return x, nil
}

// pageCustomer returns the customer of a page, a new one if it has none.
func (c *change) pageCustomer(x *Session, b buyer) (Customer, error) {
	u, known := c.customers.rows[x.CustomerID]
	if known && u.Deleted {
		return u, none("customer", u.ID, "customer")
	}
	before := c.renderCustomer(u)
	if !known {
		u = c.newCustomer()
		if u.Email = x.CustomerEmail; u.Email == "" {
			u.Email = b.email
		}
	}
	x.PaidBy = u.Email
	if (x.Plan.Tax || x.Plan.NeedsAddress) && (u.Address["country"] == "" || x.Plan.SavesAddress) && b.country != "" {
		u.Address = map[string]string{"country": b.country}
	}
	c.set(billingRecord{Customer: &u})
	if known {
		c.reportUpdate("customer.updated", before, c.renderCustomer(u))
	} else {
		c.report("customer.created", c.renderCustomer(u))
	}
	return u, nil
}
