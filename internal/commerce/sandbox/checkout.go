//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"strings"
	"time"
)

// Limits of a payment page's expiry, counted from now.
const (
	leastOpen = 30 * time.Minute
	mostOpen  = 24 * time.Hour
)

// The processor's limits of a page.
const (
	leastCents   = 50
	maxLines     = 100
	maxReference = 200
)

func createSession(c *call) (any, error) {
	x := Session{
		ID: newID("cs_test_") + newID(""), Seq: c.next(), Account: c.account, Created: c.now.Unix(),
		ExpiresAt: c.whole("expires_at", c.now.Add(mostOpen).Unix()), Status: StatusOpen, PaymentStatus: Unpaid,
		CustomerEmail: c.text("customer_email"), ClientReferenceID: c.text("client_reference_id"), Metadata: c.metadata(),
		SuccessURL: c.address("success_url"), CancelURL: c.address("cancel_url"),
	}
	switch mode := c.oneOf("mode", "", "payment", "setup", "subscription"); mode {
	case "payment":
	case "subscription":
		return c.createPlanPage(x)
	default:
		c.fail(invalid("", "mode", "The sandbox has payments and subscriptions; mode is '%s'.", mode))
	}
	c.readPayment(&x)
	c.ignore("allow_promotion_codes", "billing_address_collection", "consent_collection", "currency", "custom_text", "customer_creation",
		"invoice_creation", "locale", "payment_method_types", "payment_method_options",
		"phone_number_collection", "submit_type", "expand", "ui_mode")
	if err := c.readLines(&x); err != nil {
		return nil, err
	}
	coupons := c.list("discounts")
	if len(coupons) > 0 {
		x.CouponID = coupons[0].must("coupon")
	}
	wants := c.wants()
	if err := c.done(); err != nil {
		return nil, err
	}
	if err := c.check(&x); err != nil {
		return nil, err
	}
	if x.TotalCents() == 0 {
		x.PaymentStatus = NoPayment
	}
	c.put(record{Session: &x})
	return c.renderSession(x, wants), nil
}

// readPayment reads payment_intent_data.
func (c *call) readPayment(x *Session) {
	f := c.at("payment_intent_data")
	x.FeeCents, x.PaymentMetadata = f.amount("application_fee_amount", 1, 0), f.metadata()
	f.ignore("description", "receipt_email", "statement_descriptor", "statement_descriptor_suffix", "capture_method", "transfer_group")
	if x.FeeCents > 0 && c.account == "" {
		c.fail(invalid("", f.key("application_fee_amount"), "Can only apply an application_fee_amount when the PaymentIntent is attempting "+
			"a direct payment (using an OAuth key or Stripe-Account header) or destination payment (using `transfer_data[destination]`)."))
	}
}

// readLines reads line_items.
func (c *call) readLines(x *Session) error {
	items := c.list("line_items")
	if len(items) == 0 {
		return missing("line_items")
	}
	if len(items) > maxLines {
		return invalid("", "line_items", "You can have at most %d line items.", maxLines)
	}
	for _, f := range items {
		f.ignore("adjustable_quantity")
		line, currency, err := c.readLine(f)
		if err != nil {
			return err
		}
		if x.Currency == "" {
			x.Currency = currency
		}
		if currency != x.Currency {
			return invalid("", "line_items", "You can not combine currencies on a single Checkout Session: all line items must use %s.", x.Currency)
		}
		x.Lines = append(x.Lines, line)
		if x.SubtotalCents += line.UnitCents * line.Quantity; x.SubtotalCents > maxCents || line.Quantity > maxCents {
			return invalid("amount_too_large", "", "The Checkout Session's total amount due must be no more than %d.", maxCents)
		}
	}
	return nil
}

func (c *call) readLine(f form) (Line, string, error) {
	line := Line{ID: newID("li_"), Quantity: f.amount("quantity", 1, 0)}
	if line.Quantity == 0 {
		f.fail(missing(f.key("quantity")))
	}
	id := f.text("price")
	if (id == "") == !f.has("price_data") {
		return line, "", invalid("", f.prefix, "You must specify either `price` or `price_data` for each line item.")
	}
	price, known := c.prices[id]
	product := c.products[price.ProductID]
	if id == "" {
		data := f.at("price_data")
		price = data.price(c)
		price.ProductID = data.text("product")
		if product, known = c.products[price.ProductID]; price.ProductID == "" {
			product, known = data.at("product_data").product(c), true
		}
	}
	if *f.fault != nil {
		return line, "", *f.fault
	}
	if !known || price.Account != c.account || product.Account != c.account {
		return line, "", none("price", id, f.key("price"))
	}
	line.PriceID, line.ProductID, line.UnitCents = price.ID, product.ID, price.UnitCents
	line.Name, line.Description, line.Images = product.Name, product.Description, product.Images
	return line, price.Currency, nil
}

// check checks a page against the processor's limits and applies the coupon.
func (c *call) check(x *Session) error {
	ahead := time.Unix(x.ExpiresAt, 0).Sub(c.now.Truncate(time.Second))
	switch {
	case x.SuccessURL == "":
		return missing("success_url")
	case len(x.ClientReferenceID) > maxReference:
		return invalid("", "client_reference_id", "Invalid string: must be at most %d characters", maxReference)
	case x.CustomerEmail != "" && !strings.Contains(x.CustomerEmail, "@"):
		return invalid("email_invalid", "customer_email", "Invalid email address: %s", x.CustomerEmail)
	case ahead < leastOpen:
		return invalid("", "expires_at", "The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation.")
	case ahead > mostOpen:
		return invalid("", "expires_at", "The `expires_at` timestamp must be less than 24 hours from Checkout Session creation.")
	case c.account != "" && !c.accounts[c.account].ChargesEnabled:
		return refuse("", "", "Your account cannot currently make charges.")
	}
	if x.CouponID != "" {
		k, known := c.coupons[Coupon{ID: x.CouponID, Account: c.account}.key()]
		switch {
		case !known:
			return none("coupon", x.CouponID, "discounts[0][coupon]")
		case !k.valid(c.now.Unix()):
			return refuse("coupon_expired", "discounts[0][coupon]", "Coupon %s is expired and cannot be applied.", k.ID)
		case k.AmountOff > 0 && k.Currency != x.Currency:
			return invalid("", "discounts[0][coupon]", "Coupon %s is in %s, the Checkout Session in %s.", k.ID, k.Currency, x.Currency)
		}
		x.DiscountCents = k.off(x.SubtotalCents)
	}
	switch total := x.TotalCents(); {
	case x.Plan != nil:
	case total != 0 && total < leastCents:
		return invalid("amount_too_small", "", "The Checkout Session's total amount due must add up to at least $0.50 %s", x.Currency)
	case x.FeeCents > total:
		return invalid("", "payment_intent_data[application_fee_amount]", "Your application fee cannot be larger than the total amount.")
	}
	return nil
}

func (c *call) session() (Session, error) {
	id := c.r.PathValue("id")
	x, known := c.sessions[id]
	if !known || x.Account != c.account {
		return x, none("checkout.session", id, "")
	}
	return x, nil
}

func getSession(c *call) (any, error) {
	wants := c.wants()
	if err := c.done(); err != nil {
		return nil, err
	}
	x, err := c.session()
	if err != nil {
		return nil, err
	}
	return c.renderSession(x, wants), nil
}

func listSessions(c *call) (any, error) {
	payment, status, wants := c.text("payment_intent"), c.oneOf("status", "", StatusOpen, StatusComplete, StatusExpired), c.wants()
	customer, subscription := c.text("customer"), c.text("subscription")
	var mine []Session
	for _, x := range newest(c.order.sessions, c.sessions) {
		if x.Account == c.account && (payment == "" || x.PaymentID == payment) && (status == "" || x.Status == status) &&
			(customer == "" || x.CustomerID == customer) && (subscription == "" || x.Plan != nil && x.Plan.SubscriptionID == subscription) {
			mine = append(mine, x)
		}
	}
	return page(c, mine, func(x Session) string { return x.ID }, func(x Session) int64 { return x.Created },
		func(x Session) any { return c.renderSession(x, wants) })
}

func listLines(c *call) (any, error) {
	x, err := c.session()
	if err != nil {
		return nil, err
	}
	return page(c, x.Lines, func(l Line) string { return l.ID }, func(Line) int64 { return x.Created },
		func(l Line) any { return x.renderLine(l) })
}

func expireSession(c *call) (any, error) {
	wants := c.wants()
	if err := c.done(); err != nil {
		return nil, err
	}
	x, err := c.session()
	if err != nil {
		return nil, err
	}
	if x.Status != StatusOpen {
		return nil, refuse("", "",
			`Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of %s.`, x.Status)
	}
	return c.renderSession(c.expire(x), wants), nil
}

// expire closes a page and emits its event.
func (c *change) expire(x Session) Session {
	x.Status = StatusExpired
	c.put(record{Session: &x})
	c.emit(x.Account, "checkout.session.expired", x.render(""))
	return x
}

// expireDue closes all pages that are due.
func expireDue(c *change) error {
	for _, id := range c.order.sessions {
		if !c.open[id] {
			continue
		}
		if x := c.sessions[id]; x.ExpiresAt <= c.now.Unix() {
			c.expire(x)
		}
	}
	return nil
}

func (c *call) renderSession(x Session, wants map[string]bool) object {
	url := ""
	if x.Status == StatusOpen {
		url = c.server.pageURL(x)
	}
	rendered := x.render(url)
	if p, known := c.payments[x.PaymentID]; known && (wants["payment_intent"] || wants["payment_intent.latest_charge"]) {
		rendered["payment_intent"] = p.render(wants["payment_intent.latest_charge"])
	}
	if x.Plan != nil {
		for path := range wants {
			if !strings.HasPrefix(path, "line_items") {
				_ = c.expand(rendered, strings.Split(path, "."), path) // an unknown path is left out, as on other pages
			}
		}
	}
	if wants["line_items"] {
		lines := make([]any, 0, len(x.Lines))
		for _, l := range x.Lines {
			lines = append(lines, x.renderLine(l))
		}
		rendered["line_items"] = object{
			"object": "list", "has_more": false, "data": lines, "url": "/v1/checkout/sessions/" + x.ID + "/line_items",
		}
	}
	return rendered
}

func (s *Server) pageURL(x Session) string { return s.config.URL + "/pay/" + x.ID }

func (x Session) render(url string) object {
	var customer any
	if x.PaidBy != "" {
		customer = object{"email": x.PaidBy, "name": nil, "phone": nil}
	} else if x.CustomerEmail != "" {
		customer = object{"email": x.CustomerEmail, "name": nil, "phone": nil}
	}
	discounts := []any{}
	if x.CouponID != "" {
		discounts = append(discounts, object{"coupon": x.CouponID, "promotion_code": nil})
	}
	rendered := object{
		"id": x.ID, "object": "checkout.session", "created": x.Created, "expires_at": x.ExpiresAt, "livemode": false, "mode": "payment",
		"status": x.Status, "payment_status": x.PaymentStatus, "payment_intent": nullable(x.PaymentID), "url": nullable(url),
		"amount_subtotal": x.SubtotalCents, "amount_total": x.TotalCents(), "currency": x.Currency,
		"total_details":       object{"amount_discount": x.DiscountCents, "amount_shipping": 0, "amount_tax": 0},
		"client_reference_id": nullable(x.ClientReferenceID), "customer_email": nullable(x.CustomerEmail), "customer_details": customer,
		"customer": nullable(x.CustomerID), "metadata": x.Metadata, "success_url": x.SuccessURL, "cancel_url": nullable(x.CancelURL),
		"payment_method_types": []string{"card", "customer_balance"}, "discounts": discounts, "subscription": nil, "invoice": nil,
	}
	if p := x.Plan; p != nil {
		collection := "always"
		if p.CardIfRequired {
			collection = "if_required"
		}
		rendered["mode"], rendered["subscription"], rendered["invoice"] = "subscription", nullable(p.SubscriptionID), nullable(p.InvoiceID)
		rendered["payment_method_collection"], rendered["allow_promotion_codes"] = collection, p.AllowCodes
		rendered["automatic_tax"], rendered["payment_method_types"] = object{"enabled": p.Tax}, []string{"card"}
		rendered["total_details"] = object{"amount_discount": x.DiscountCents, "amount_shipping": 0, "amount_tax": p.TaxCents}
	}
	return rendered
}

func (x Session) renderLine(l Line) object {
	cents, kind := l.UnitCents*l.Quantity, "one_time"
	if l.Cents != 0 {
		cents = l.Cents
	}
	price := object{"id": l.PriceID, "object": "price", "currency": x.Currency, "unit_amount": l.UnitCents, "product": l.ProductID}
	if l.Interval != "" {
		kind, price["recurring"] = "recurring", object{"interval": l.Interval, "interval_count": l.Every}
	}
	price["type"] = kind
	return object{
		"id": l.ID, "object": "item", "quantity": l.Quantity, "description": l.Name, "currency": x.Currency,
		"amount_subtotal": cents, "amount_total": cents, "amount_discount": 0, "amount_tax": 0, "price": price,
	}
}
