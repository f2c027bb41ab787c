package e2e

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
)

// buy simulates one buyer: a cart, a payment page and sometimes a refund.
func (c *crowd) buy(r *rand.Rand, customer string) {
	in := api.CheckoutInput{
		CustomerEmail: "bo@buyer.example", CustomerExternalID: customer,
		SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart",
	}
	if !oneIn(r, 4) {
		in.StreamID = nullable.NewNullableWithValue(c.shop.stream)
	}
	for range 1 + r.IntN(3) {
		p := r.IntN(len(c.shop.products))
		if p < scarce && !oneIn(r, 3) {
			p += scarce
		}
		in.Items = append(in.Items, api.CartItem{ProductID: c.shop.products[p].ID, Quantity: 1 + r.IntN(2)})
	}
	if oneIn(r, 2) {
		in.DiscountCode = new(pick(r, c.shop.codes))
	}
	key := ""
	if oneIn(r, 2) {
		key = "checkout-" + customer
	}
	orderID, sessionID, ok := c.checkout(in, key)
	if !ok {
		return
	}
	c.rest(time.Duration(r.IntN(100)) * time.Millisecond)
	if paid := c.endPage(r, sessionID); paid && oneIn(r, 3) {
		c.regret(r, orderID, customer)
	}
}

// checkout creates the customer's only order. If a call without an
// Idempotency-Key isn't answered, it repeats the call only after the list of the
// customer's orders shows that there is none.
func (c *crowd) checkout(in api.CheckoutInput, key string) (orderID, sessionID string, ok bool) {
	for !c.over() {
		answer, err := c.shop.CreateCheckoutWithResponse(context.Background(), in, keyed(key))
		switch c.outcome("checkout", answer, err, unavailable, inProgress, keyLost, "insufficient_stock", "discount_invalid") {
		case "":
			made := *answer.JSON201
			c.mu.Lock()
			c.orders[made.OrderID] = true
			c.mu.Unlock()
			return made.OrderID, made.SessionID, true
		case "insufficient_stock", "discount_invalid":
			return "", "", false
		case inProgress:
			c.rest(100 * time.Millisecond)
			continue
		case lost:
			if key != "" {
				c.rest(60 * time.Millisecond)
				continue
			}
		}
		if o, found := c.newest(in.CustomerExternalID); found {
			return c.page(o.ID)
		}
		if key != "" { // the request made nothing, and never will
			return "", "", false
		}
	}
	return "", "", false
}

// newest asks for the customer's newest order until there is an answer.
func (c *crowd) newest(customer string) (o api.Order, found bool) {
	for !c.over() {
		answer, err := c.shop.ListOrdersWithResponse(context.Background(), &api.ListOrdersParams{CustomerExternalID: &customer})
		if c.outcome("list orders", answer, err) == "" {
			if list := *answer.JSON200; len(list) > 0 {
				return list[0], true
			}
			return o, false
		}
		c.rest(20 * time.Millisecond)
	}
	return o, true
}

// page polls an order for its page for a short time.
func (c *crowd) page(orderID string) (id, sessionID string, ok bool) {
	for range 10 {
		if c.over() {
			break
		}
		answer, err := c.shop.GetOrderWithResponse(context.Background(), orderID)
		if c.outcome("get order", answer, err) == "" {
			o := *answer.JSON200
			if session, err := o.ProcessorCheckoutSessionID.Get(); err == nil && o.Status == api.OrderStatusPENDING {
				return orderID, session, true
			}
		}
		c.rest(100 * time.Millisecond)
	}
	return "", "", false
}

// regret requests a refund once the order is paid: from the shop, with or
// without an Idempotency-Key, or from the seller, who refunds at the processor.
func (c *crowd) regret(r *rand.Rand, orderID, customer string) {
	for !c.over() {
		answer, err := c.shop.GetOrderWithResponse(context.Background(), orderID)
		if c.outcome("get order", answer, err) == "" && answer.JSON200.PaidAt.IsSpecified() && !answer.JSON200.PaidAt.IsNull() {
			payment, err := answer.JSON200.ProcessorPaymentIntentID.Get()
			if err != nil {
				return // the order was free of charge
			}
			c.refund(r, orderID, payment, answer.JSON200.TotalCents, customer)
			return
		}
		c.rest(50 * time.Millisecond)
	}
}

func (c *crowd) refund(r *rand.Rand, orderID, paymentIntent string, total int64, customer string) {
	if oneIn(r, 4) {
		_, err := c.shop.box.Refund(paymentIntent, 1+r.Int64N(total))
		c.must(err)
		c.count("refund at the processor")
	}
	in := api.RefundInput{}
	if oneIn(r, 2) {
		in.AmountCents = new(1 + r.Int64N(total))
	}
	key := ""
	if oneIn(r, 2) {
		key = "refund-" + customer
	}
	for !c.over() {
		answer, err := c.shop.RefundOrderWithResponse(context.Background(), orderID, in, keyed(key))
		code := c.outcome("refund", answer, err, unavailable, inProgress, keyLost, "conflict", "refund_too_large")
		if key == "" || code != lost && code != inProgress {
			return
		}
		c.rest(50 * time.Millisecond)
	}
}
