//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import "strings"

// PromotionCode is a code that buyers enter on a page for a coupon.
type PromotionCode struct {
	ID       string            `json:"id"`
	Created  int64             `json:"created"`
	Code     string            `json:"code"`
	CouponID string            `json:"couponId"`
	Inactive bool              `json:"inactive"`
	Metadata map[string]string `json:"metadata"`
}

func createCode(c *call) (any, error) {
	k := PromotionCode{
		ID: newID("promo_"), Created: c.unix(), Code: c.text("code"), CouponID: c.must("coupon"), Inactive: !c.flagOr("active", true),
		Metadata: c.metadata(),
	}
	c.ignore("max_redemptions", "expires_at", "restrictions", "customer")
	if err := c.done(); err != nil {
		return nil, err
	}
	if k.Code == "" {
		k.Code = strings.ToUpper(newID("")[:8])
	}
	if _, known := c.coupons[Coupon{ID: k.CouponID}.key()]; !known {
		return nil, none("coupon", k.CouponID, "coupon")
	}
	if _, known := c.codeNamed(k.Code); known {
		return nil, refuse("", "code", "An active promotion code with `code: %s` already exists.", k.Code)
	}
	c.set(billingRecord{Code: &k})
	return k.render(c), nil
}

// codeNamed returns the active code with a name; case makes no difference.
func (c *change) codeNamed(name string) (PromotionCode, bool) {
	for _, k := range c.codes.rows {
		if !k.Inactive && strings.EqualFold(k.Code, name) {
			return k, true
		}
	}
	return PromotionCode{}, false
}

func listCodes(c *call) (any, error) {
	name, coupon := c.text("code"), c.text("coupon")
	return pageOf(c, &c.codes, func(k PromotionCode) bool {
		return (name == "" || strings.EqualFold(k.Code, name)) && (coupon == "" || k.CouponID == coupon)
	}, func(k PromotionCode) string { return k.ID }, func(k PromotionCode) int64 { return k.Created },
		func(k PromotionCode) any { return k.render(c) })
}

func (k PromotionCode) render(c *call) object {
	return object{
		"id": k.ID, "object": "promotion_code", "created": k.Created, "livemode": false, "code": k.Code, "active": !k.Inactive,
		"coupon": c.coupons[Coupon{ID: k.CouponID}.key()].render(c.unix()), "metadata": k.Metadata, "times_redeemed": 0,
	}
}

// readCoupon reads the discount of a subscription.
func (c *call) readCoupon(sub *Subscription) {
	sub.CouponID = c.textOr("coupon", sub.CouponID)
	if list := c.list("discounts"); len(list) > 0 {
		sub.CouponID = list[0].must("coupon")
	}
	if id := c.text("promotion_code"); id != "" {
		k, known := c.codes.rows[id]
		if !known || k.Inactive {
			c.fail(none("promotion code", id, "promotion_code"))
		}
		sub.CouponID, sub.CodeID = k.CouponID, k.ID
	}
	if sub.CouponID == "" {
		return
	}
	if k, known := c.coupons[Coupon{ID: sub.CouponID}.key()]; !known {
		c.fail(none("coupon", sub.CouponID, "coupon"))
	} else if !k.valid(c.unix()) && (c.has("coupon") || c.has("discounts") || c.has("promotion_code")) {
		c.fail(refuse("coupon_expired", "coupon", "Coupon %s is expired and cannot be applied.", k.ID))
	}
}

// startDiscount begins the discount of a subscription and counts its redemption.
func (c *change) startDiscount(sub *Subscription) {
	k, known := c.coupons[Coupon{ID: sub.CouponID}.key()]
	sub.DiscountStart, sub.DiscountEnd = 0, 0
	if !known {
		return
	}
	k.Redeemed++
	c.put(record{Coupon: &k})
	sub.DiscountStart = c.unix()
	switch k.Duration {
	case "once":
		sub.DiscountEnd = -1
	case "repeating":
		sub.DiscountEnd = addInterval(c.unix(), "month", k.Months)
	}
}

// discounted reports whether an invoice of now has the subscription's discount. A coupon with the duration once is for one invoice that
// isn't 0.
func (c *change) discounted(sub Subscription) bool {
	switch {
	case sub.CouponID == "":
		return false
	case sub.DiscountEnd == -1:
		for _, i := range c.invoices.rows {
			if i.SubscriptionID == sub.ID && i.CouponID == sub.CouponID && i.DiscountCents > 0 && i.Status != Void {
				return false
			}
		}
		return true
	default:
		return sub.DiscountEnd == 0 || c.unix() < sub.DiscountEnd
	}
}

func (c *change) renderDiscount(sub Subscription) any {
	k, known := c.coupons[Coupon{ID: sub.CouponID}.key()]
	if !known || !c.discounted(sub) {
		return nil
	}
	return object{
		"id": "di_" + sub.ID, "object": "discount", "coupon": k.render(c.unix()), "customer": sub.CustomerID, "subscription": sub.ID,
		"start": sub.DiscountStart, "end": nullable(max(0, sub.DiscountEnd)), "promotion_code": nullable(sub.CodeID),
	}
}
