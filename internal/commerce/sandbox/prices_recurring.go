//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"math/big"
	"slices"
	"strings"
	"time"
)

// readDecimal reads unit_amount_decimal, which replaces unit_amount.
func (f form) readDecimal(p *Price) {
	if p.UnitDecimal == "" {
		return
	}
	key := f.key("unit_amount_decimal")
	amount, ok := new(big.Rat).SetString(p.UnitDecimal)
	_, fraction, _ := strings.Cut(p.UnitDecimal, ".")
	switch {
	case p.UnitCents >= 0:
		f.fail(invalid("", key, "You may only specify one of these parameters: unit_amount, unit_amount_decimal."))
	case !ok || amount.Sign() < 0 || len(fraction) > 12 || strings.ContainsAny(p.UnitDecimal, "/eE"):
		f.fail(invalid("parameter_invalid_decimal", key, "Invalid decimal: %s; must be at least 0 with at most 12 decimal places", p.UnitDecimal))
	default:
		p.UnitCents = 0
		if amount.IsInt() && amount.Num().IsInt64() {
			p.UnitCents, p.UnitDecimal = amount.Num().Int64(), ""
		}
	}
}

// readRecurring reads the period of a recurring price.
func (f form) readRecurring(c *call, p *Price) {
	if !f.has("recurring") {
		return
	}
	r := f.at("recurring")
	p.Interval, p.Every = r.oneOf("interval", "", "day", "week", "month", "year"), r.amount("interval_count", 1, 1)
	p.Metered, p.MeterID = r.oneOf("usage_type", "licensed", "metered") == "metered", r.text("meter")
	r.ignore("aggregate_usage", "trial_period_days")
	months := map[string]int64{"day": 1096, "week": 156, "month": 36, "year": 3}[p.Interval]
	_, known := c.meters.rows[p.MeterID]
	switch {
	case c.account != "":
		f.fail(invalid("", f.key("recurring"), "The sandbox has recurring prices only for the platform's own account."))
	case p.Interval == "":
		f.fail(missing(r.key("interval")))
	case p.Every > months:
		f.fail(invalid("", r.key("interval_count"), "The maximum interval is three years."))
	case p.MeterID != "" && !p.Metered:
		f.fail(invalid("", r.key("meter"), "You can only set `meter` when `usage_type` is `metered`."))
	case p.MeterID != "" && !known:
		f.fail(none("meter", p.MeterID, r.key("meter")))
	}
}

// readTransformation reads transform_quantity.
func (c *call) readTransformation(p *Price) {
	if c.oneOf("billing_scheme", "per_unit", "tiered") != "per_unit" {
		c.fail(invalid("", "billing_scheme", "The sandbox has no tiers."))
	}
	if !c.has("transform_quantity") {
		return
	}
	f := c.at("transform_quantity")
	p.DivideBy, p.Round = f.amount("divide_by", 1, 0), f.oneOf("round", "", "up", "down")
	if p.DivideBy == 0 || p.Round == "" {
		c.fail(missing("transform_quantity"))
	}
}

// takeLookupKey makes sure that no other active price has the price's lookup key.
func (c *call) takeLookupKey(p Price, transfer bool) error {
	if p.LookupKey == "" {
		return nil
	}
	for _, id := range c.order.prices {
		other := c.prices[id]
		if other.ID == p.ID || other.Account != c.account || other.LookupKey != p.LookupKey {
			continue
		}
		if !transfer {
			return refuse("", "lookup_key", "A price (`%s`) already uses that lookup key.", other.ID)
		}
		other.LookupKey = ""
		c.put(record{Price: &other})
		c.emit(c.account, "price.updated", other.render())
	}
	return nil
}

// cents returns the amount of a quantity, rounded half up.
func (p Price) cents(quantity int64) int64 {
	if p.DivideBy > 0 {
		if p.Round == "up" {
			quantity += p.DivideBy - 1
		}
		quantity /= p.DivideBy
	}
	if p.UnitDecimal == "" {
		return p.UnitCents * quantity
	}
	unit, ok := new(big.Rat).SetString(p.UnitDecimal)
	if !ok {
		return 0
	}
	return round(unit.Mul(unit, new(big.Rat).SetInt64(quantity)))
}

// round rounds to whole cents, half away from zero.
func round(amount *big.Rat) int64 {
	twice := new(big.Int).Mul(amount.Num(), big.NewInt(2))
	half := new(big.Int).Set(amount.Denom())
	if amount.Sign() < 0 {
		half.Neg(half)
	}
	twice.Add(twice, half)
	return twice.Quo(twice, new(big.Int).Mul(amount.Denom(), big.NewInt(2))).Int64()
}

// share returns cents × part / all, rounded half away from zero.
func share(cents, part, all int64) int64 {
	if all <= 0 {
		return 0
	}
	return round(new(big.Rat).Mul(new(big.Rat).SetInt64(cents), big.NewRat(part, all)))
}

// after returns the end of the n-th period after a start. Months keep the start's day: the 31st becomes the last day of a shorter month.
func (p Price) after(start, n int64) int64 {
	return addInterval(start, p.Interval, p.Every*n)
}

func addInterval(start int64, interval string, n int64) int64 {
	at := time.Unix(start, 0).UTC()
	switch interval {
	case "day":
		return at.AddDate(0, 0, int(n)).Unix()
	case "week":
		return at.AddDate(0, 0, 7*int(n)).Unix()
	case "year":
		n *= 12
	}
	first := time.Date(at.Year(), at.Month()+time.Month(n), 1, at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(at.Day(), last)-1).Unix()
}

// nextAfter returns the first end of a period that is later than at. Periods are counted from the anchor, which may be later than at.
func (p Price) nextAfter(anchor, at int64) int64 {
	n := int64(0)
	if p.Every > 0 {
		// A guess that is never too late; the loop below corrects it.
		length := map[string]int64{"day": 86400, "week": 7 * 86400, "month": 31 * 86400, "year": 366 * 86400}[p.Interval] * p.Every
		n = (at-anchor)/length - 1
	}
	for p.after(anchor, n) > at {
		n--
	}
	for p.after(anchor, n) <= at {
		n++
	}
	return p.after(anchor, n)
}

func updateProduct(c *call) (any, error) {
	p, known := c.products[c.r.PathValue("id")]
	if !known || p.Account != c.account {
		return nil, none("product", c.r.PathValue("id"), "id")
	}
	p.Name, p.Description = c.textOr("name", p.Name), c.textOr("description", p.Description)
	p.Inactive = !c.flagOr("active", !p.Inactive)
	p.Metadata = c.merged(p.Metadata)
	if c.has("images") {
		p.Images = c.texts("images")
	}
	c.ignore("default_price", "statement_descriptor", "tax_code", "unit_label", "url")
	if err := c.done(); err != nil {
		return nil, err
	}
	c.put(record{Product: &p})
	c.report("product.updated", p.render())
	return p.render(), nil
}

func listProducts(c *call) (any, error) {
	active, ids := c.text("active"), c.texts("ids")
	list := slices.DeleteFunc(newest(c.order.products, c.products), func(p Product) bool {
		return p.Account != c.account || active != "" && p.Inactive == (active == yes) || len(ids) > 0 && !slices.Contains(ids, p.ID)
	})
	return page(c, list, func(p Product) string { return p.ID }, func(p Product) int64 { return p.Created },
		func(p Product) any { return p.render() })
}

func updatePrice(c *call) (any, error) {
	p, known := c.prices[c.r.PathValue("id")]
	if !known || p.Account != c.account {
		return nil, none("price", c.r.PathValue("id"), "id")
	}
	p.Nickname, p.LookupKey = c.textOr("nickname", p.Nickname), c.textOr("lookup_key", p.LookupKey)
	p.Inactive = !c.flagOr("active", !p.Inactive)
	p.Metadata = c.merged(p.Metadata)
	transfer := c.flag("transfer_lookup_key")
	if behavior := c.oneOf("tax_behavior", "", "inclusive", "exclusive", "unspecified"); behavior != "" {
		if p.TaxBehavior != "unspecified" && behavior != p.TaxBehavior {
			c.fail(refuse("", "tax_behavior", "You cannot change the tax_behavior of a price once it is set."))
		}
		p.TaxBehavior = behavior
	}
	if err := c.done(); err != nil {
		return nil, err
	}
	if err := c.takeLookupKey(p, transfer); err != nil {
		return nil, err
	}
	c.put(record{Price: &p})
	c.report("price.updated", p.render())
	return p.render(), nil
}

func listPrices(c *call) (any, error) {
	active, product, kind, keys := c.text("active"), c.text("product"), c.oneOf("type", "", "one_time", "recurring"), c.texts("lookup_keys")
	currency := c.text("currency")
	list := slices.DeleteFunc(newest(c.order.prices, c.prices), func(p Price) bool {
		return p.Account != c.account || active != "" && p.Inactive == (active == yes) || product != "" && p.ProductID != product ||
			kind != "" && (p.Interval != "") != (kind == "recurring") || len(keys) > 0 && !slices.Contains(keys, p.LookupKey) ||
			currency != "" && p.Currency != currency
	})
	return page(c, list, func(p Price) string { return p.ID }, func(p Price) int64 { return p.Created },
		func(p Price) any { return p.render() })
}

func (p Price) render() object {
	decimal := p.UnitDecimal
	var unit any
	if decimal == "" {
		unit, decimal = p.UnitCents, big.NewInt(p.UnitCents).String()
	}
	rendered := object{
		"id": p.ID, "object": "price", "created": p.Created, "active": !p.Inactive, "livemode": false, "type": "one_time",
		"billing_scheme": "per_unit", "currency": p.Currency, "unit_amount": unit, "unit_amount_decimal": decimal, "product": p.ProductID,
		"metadata": p.Metadata, "nickname": nullable(p.Nickname), "lookup_key": nullable(p.LookupKey), "tax_behavior": p.TaxBehavior,
		"recurring": nil, "transform_quantity": nil, "tiers_mode": nil,
	}
	if p.DivideBy > 0 {
		rendered["transform_quantity"] = object{"divide_by": p.DivideBy, "round": p.Round}
	}
	if p.Interval != "" {
		usage := "licensed"
		if p.Metered {
			usage = "metered"
		}
		rendered["type"] = "recurring"
		rendered["recurring"] = object{
			"interval": p.Interval, "interval_count": p.Every, "usage_type": usage, "meter": nullable(p.MeterID), "trial_period_days": nil,
			"aggregate_usage": nil,
		}
	}
	return rendered
}
