//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxCouponName is the processor's limit, in characters.
const maxCouponName = 40

func createCoupon(c *call) (any, error) {
	k := Coupon{
		ID: c.text("id"), Account: c.account, Created: c.now.Unix(), Name: c.text("name"),
		AmountOff: c.amount("amount_off", 1, 0), PercentOff: c.percent("percent_off"), Currency: c.text("currency"),
		Duration: c.oneOf("duration", "once", "forever", "repeating"), MaxRedemptions: c.amount("max_redemptions", 1, 0),
		RedeemBy: c.whole("redeem_by", 0), Metadata: c.metadata(),
	}
	k.Months = c.amount("duration_in_months", 1, 0)
	c.ignore("expand", "applies_to")
	switch {
	case k.Duration == "repeating" && k.Months == 0:
		c.fail(missing("duration_in_months"))
	case (k.AmountOff == 0) == (k.PercentOff == 0):
		c.fail(invalid("", "", "You must pass either percent_off or amount_off, and not both."))
	case k.AmountOff > 0 && k.Currency == "":
		c.fail(invalid("parameter_missing", "currency", "You must pass currency when passing amount_off"))
	case utf8.RuneCountInString(k.Name) > maxCouponName:
		c.fail(invalid("", "name", "Invalid string: %s; must be at most %d characters", k.Name, maxCouponName))
	case k.RedeemBy != 0 && k.RedeemBy <= c.now.Unix():
		c.fail(invalid("", "redeem_by", "Invalid timestamp: must be an integer Unix timestamp in the future"))
	}
	if err := c.done(); err != nil {
		return nil, err
	}
	if k.ID == "" {
		k.ID = newID("")[:8]
	}
	if _, known := c.coupons[k.key()]; known {
		return nil, refuse("resource_already_exists", "id", "Coupon already exists.")
	}
	c.put(record{Coupon: &k})
	return k.render(c.now.Unix()), nil
}

// percent returns a number above 0 and up to 100, or 0 if it is absent.
func (f form) percent(name string) float64 {
	v := f.text(name)
	if v == "" {
		return 0
	}
	p, err := strconv.ParseFloat(v, 64)
	if err != nil || !(p > 0 && p <= 100) {
		f.fail(invalid("", f.key(name), "Invalid %s: must be greater than 0 and at most 100", f.key(name)))
	}
	return p
}

func getCoupon(c *call) (any, error) {
	c.ignore("expand")
	if err := c.done(); err != nil {
		return nil, err
	}
	id := c.r.PathValue("id")
	k, known := c.coupons[Coupon{ID: id, Account: c.account}.key()]
	if !known {
		return nil, none("coupon", id, "id")
	}
	return k.render(c.now.Unix()), nil
}

// key returns a key that is unique among all accounts, since the caller may
// choose the id.
func (k Coupon) key() string { return k.Account + " " + k.ID }

func (k Coupon) valid(now int64) bool {
	return (k.MaxRedemptions == 0 || k.Redeemed < k.MaxRedemptions) && (k.RedeemBy == 0 || now < k.RedeemBy)
}

func (k Coupon) render(now int64) object {
	return object{
		"id": k.ID, "object": "coupon", "created": k.Created, "livemode": false, "name": nullable(k.Name), "metadata": k.Metadata,
		"amount_off": nullable(k.AmountOff), "percent_off": nullable(k.PercentOff), "currency": nullable(k.Currency),
		"duration": k.Duration, "duration_in_months": nullable(k.Months), "max_redemptions": nullable(k.MaxRedemptions),
		"redeem_by":      nullable(k.RedeemBy),
		"times_redeemed": k.Redeemed, "valid": k.valid(now),
	}
}

// off returns the discount of the coupon for an amount.
func (k Coupon) off(cents int64) int64 {
	if k.AmountOff > 0 {
		return min(k.AmountOff, cents)
	}
	return min(int64(float64(cents)*k.PercentOff/100+0.5), cents)
}

// maxImages is the processor's limit of a product's images.
const maxImages = 8

// product reads the fields of a product.
func (f form) product(c *call) Product {
	p := Product{
		ID: newID("prod_"), Account: c.account, Created: c.now.Unix(), Name: f.must("name"), Description: f.text("description"),
		Images: f.texts("images"), Metadata: f.metadata(),
	}
	p.Inactive = f.has("active") && !f.flag("active")
	f.ignore("statement_descriptor", "tax_code", "unit_label", "url", "shippable", "type")
	if len(p.Images) > maxImages {
		f.fail(invalid("", f.key("images"), "You can have at most %d images.", maxImages))
	}
	return p
}

func createProduct(c *call) (any, error) {
	p := c.product(c)
	if id := c.text("id"); id != "" {
		p.ID = id
	}
	var price *Price
	if c.has("default_price_data") {
		f := c.at("default_price_data")
		price = new(f.price(c))
		price.ProductID = p.ID
	}
	c.ignore("expand")
	if err := c.done(); err != nil {
		return nil, err
	}
	if _, known := c.products[p.ID]; known {
		return nil, refuse("resource_already_exists", "id", "Product already exists.")
	}
	c.put(record{Product: &p})
	rendered := p.render()
	if price != nil {
		c.put(record{Price: price})
		rendered["default_price"] = price.ID
	}
	return rendered, nil
}

func getProduct(c *call) (any, error) {
	c.ignore("expand")
	if err := c.done(); err != nil {
		return nil, err
	}
	p, known := c.products[c.r.PathValue("id")]
	if !known || p.Account != c.account {
		return nil, none("product", c.r.PathValue("id"), "id")
	}
	return p.render(), nil
}

func (p Product) render() object {
	return object{
		"id": p.ID, "object": "product", "created": p.Created, "active": !p.Inactive, "livemode": false, "name": p.Name,
		"description": nullable(p.Description), "images": p.Images, "metadata": p.Metadata, "type": "service",
	}
}

// maxCents is the largest amount of one payment.
const maxCents = 99999999

// price reads the fields of a price.
func (f form) price(c *call) Price {
	p := Price{
		ID: newID("price_"), Account: c.account, Created: c.now.Unix(), Currency: f.must("currency"),
		UnitCents: f.amount("unit_amount", 0, -1), UnitDecimal: f.text("unit_amount_decimal"), Metadata: f.metadata(),
		TaxBehavior: f.oneOf("tax_behavior", "unspecified", "inclusive", "exclusive"),
	}
	f.readDecimal(&p)
	f.readRecurring(c, &p)
	switch {
	case p.UnitCents < 0:
		f.fail(missing(f.key("unit_amount")))
	case p.UnitCents > maxCents:
		f.fail(invalid("amount_too_large", f.key("unit_amount"), "Invalid integer: must be at most %d.", maxCents))
	case !isCurrency(p.Currency):
		f.fail(invalid("", f.key("currency"), "Invalid currency: %s.", p.Currency))
	}
	return p
}

func isCurrency(code string) bool {
	if len(code) != 3 {
		return false
	}
	for _, r := range code {
		if r < 'a' || r > 'z' {
			return false
		}
	}
	return true
}

func createPrice(c *call) (any, error) {
	p := c.price(c)
	p.Nickname, p.LookupKey = c.text("nickname"), c.text("lookup_key")
	p.Inactive = c.has("active") && !c.flag("active")
	c.readTransformation(&p)
	transfer := c.flag("transfer_lookup_key")
	c.ignore("expand")
	p.ProductID = c.text("product")
	var made *Product
	if c.has("product_data") {
		f := c.at("product_data")
		made = new(f.product(c))
		if id := f.text("id"); id != "" {
			made.ID = id
		}
	}
	if (made == nil) == (p.ProductID == "") {
		c.fail(missing("product"))
	}
	if err := c.done(); err != nil {
		return nil, err
	}
	if made != nil {
		p.ProductID = made.ID
		c.put(record{Product: made})
	} else if product, known := c.products[p.ProductID]; !known || product.Account != c.account {
		return nil, none("product", p.ProductID, "product")
	}
	if err := c.takeLookupKey(p, transfer); err != nil {
		return nil, err
	}
	c.put(record{Price: &p})
	return p.render(), nil
}

func getPrice(c *call) (any, error) {
	paths := c.texts("expand")
	if err := c.done(); err != nil {
		return nil, err
	}
	p, known := c.prices[c.r.PathValue("id")]
	if !known || p.Account != c.account {
		return nil, none("price", c.r.PathValue("id"), "id")
	}
	rendered := p.render()
	for _, path := range paths {
		if err := c.expand(rendered, strings.Split(path, "."), path); err != nil {
			return nil, err
		}
	}
	return rendered, nil
}
