package processor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
)

// CreatePage creates a payment page. With a discount it takes two calls, because
// the processor requires a coupon object.
func (c *Client) CreatePage(ctx context.Context, p NewPaymentPage) (PaymentPage, error) {
	asked := pageParams(ctx, p)
	if p.DiscountCents > 0 {
		coupon, err := c.coupon(ctx, p)
		if f, failed := errors.AsType[*failure](err); failed {
			// The page was not requested, whether or not the coupon was created.
			f.notDone = true
		}
		if err != nil {
			return PaymentPage{}, err
		}
		asked.Discounts = []*stripe.CheckoutSessionDiscountParams{{Coupon: new(coupon)}}
	}
	made, err := c.api.CheckoutSessions.New(asked)
	if err := c.failed(ctx, "create payment page", err, made.ID != ""); err != nil {
		return PaymentPage{}, err
	}
	return session(made), nil
}

func pageParams(ctx context.Context, p NewPaymentPage) *stripe.CheckoutSessionParams {
	labels := map[string]string{metaOrder: p.OrderID, metaTenant: p.TenantID}
	asked := &stripe.CheckoutSessionParams{
		Params:            params(ctx, p.AccountID, "page-"+p.OrderID),
		Mode:              new(string(stripe.CheckoutSessionModePayment)),
		ClientReferenceID: new(p.OrderID),
		ExpiresAt:         new(p.ExpiresAt.Unix()),
		SuccessURL:        new(p.SuccessURL),
		CancelURL:         new(p.CancelURL),
		Metadata:          labels,
	}
	if p.CustomerEmail != "" {
		asked.CustomerEmail = new(p.CustomerEmail)
	}
	total := -p.DiscountCents
	for _, l := range p.Lines {
		asked.LineItems = append(asked.LineItems, lineParams(l, p.Currency))
		total += l.UnitCents * l.Quantity
	}
	if total > 0 { // the processor makes no payment for a total of 0
		asked.PaymentIntentData = &stripe.CheckoutSessionPaymentIntentDataParams{Metadata: labels}
		if p.FeeCents > 0 {
			asked.PaymentIntentData.ApplicationFeeAmount = new(p.FeeCents)
		}
	}
	return asked
}

func lineParams(l Line, currency string) *stripe.CheckoutSessionLineItemParams {
	asked := &stripe.CheckoutSessionLineItemParams{Quantity: new(l.Quantity)}
	if l.PriceID != "" {
		asked.Price = new(l.PriceID)
		return asked
	}
	product := &stripe.CheckoutSessionLineItemPriceDataProductDataParams{Name: new(l.Name)}
	if strings.HasPrefix(l.ImageURL, "https://") { // the page is served by https and shows no other images
		product.Images = []*string{new(l.ImageURL)}
	}
	asked.PriceData = &stripe.CheckoutSessionLineItemPriceDataParams{
		Currency: new(currency), UnitAmount: new(l.UnitCents), ProductData: product,
	}
	return asked
}

// maxCouponName is the processor's maximum length of a coupon's name, in
// characters.
const maxCouponName = 40

// coupon creates the page's discount on the seller's account and returns its id.
// The id is derived from the order's, so a second attempt finds the first one's
// coupon.
func (c *Client) coupon(ctx context.Context, p NewPaymentPage) (string, error) {
	id := "order-" + p.OrderID
	name := []rune(p.DiscountName)
	asked := &stripe.CouponParams{
		Params: params(ctx, p.AccountID, "coupon-"+p.OrderID), ID: new(id),
		AmountOff: new(p.DiscountCents), Currency: new(p.Currency),
		Duration: new(string(stripe.CouponDurationOnce)), MaxRedemptions: new(int64(1)),
		Metadata: map[string]string{metaOrder: p.OrderID, metaTenant: p.TenantID},
	}
	if len(name) > 0 {
		asked.Name = new(string(name[:min(len(name), maxCouponName)]))
	}
	made, err := c.api.Coupons.New(asked)
	err = c.failed(ctx, "create coupon", err, made.ID != "")
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Code == string(stripe.ErrorCodeResourceAlreadyExists) {
		return id, nil
	}
	return id, err
}

// GetPage returns the current state of a payment page.
func (c *Client) GetPage(ctx context.Context, accountID, sessionID string) (PaymentPage, error) {
	asked := &stripe.CheckoutSessionParams{Params: params(ctx, accountID, "")}
	asked.AddExpand("payment_intent") // only the payment intent shows that a payment has failed
	got, err := c.api.CheckoutSessions.Get(sessionID, asked)
	if err := c.failed(ctx, "get payment page", err, got.ID != ""); err != nil {
		return PaymentPage{}, err
	}
	return session(got), nil
}

const (
	// searchCalls and searchTime bound one FindPage: the number of calls, for 100
	// pages each, and the total time.
	searchCalls = 10
	searchTime  = 40 * time.Second
)

// Search is a search for a payment page on the seller's account.
type Search struct {
	AccountID string
	// Match reports whether a page is the wanted one.
	Match func(PaymentPage) bool
	// From and Until are the earliest and the latest time at which the page may have
	// been created, by our clock.
	From, Until time.Time
	// After is the position at which to continue: Found.Next of the previous FindPage;
	// empty for the first.
	After string
}

// Found is the result of a search.
type Found struct {
	// Page is nil if none was found yet.
	Page *PaymentPage
	// Next is the position at which to continue; empty if the whole period was
	// searched.
	Next string
}

// FindPage looks for a payment page after CreatePage's answer was lost. The
// processor has no filter for an order's id, so FindPage reads the account's pages
// of the period, newest first: up to 1000 pages, for at most 40 seconds.
// Found.Next is the position for the next call, also if this call fails.
func (c *Client) FindPage(ctx context.Context, s Search) (Found, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	found := Found{Next: s.After}
	for range searchCalls {
		asked := &stripe.CheckoutSessionListParams{ListParams: listParams(ctx, s.AccountID), CreatedRange: between(s.From, s.Until)}
		asked.Single = true
		if found.Next != "" {
			asked.StartingAfter = new(found.Next)
		}
		list := c.api.CheckoutSessions.List(asked)
		if err := c.failed(ctx, "find payment page", list.Err(), list.CheckoutSessionList().Data != nil); err != nil {
			return found, err
		}
		for list.Next() {
			one := list.CheckoutSession()
			if one.Created < s.From.Add(-slack).Unix() {
				return Found{}, nil
			}
			if page := session(one); s.Match(page) {
				return Found{Page: &page}, nil
			}
			found.Next = one.ID
		}
		if !list.CheckoutSessionList().HasMore {
			return Found{}, nil
		}
	}
	return found, nil
}

// ExpirePage closes a payment page, so that it can no longer be paid. If the page
// is closed already, the error is a *Refusal; GetPage returns its state.
func (c *Client) ExpirePage(ctx context.Context, accountID, sessionID string) (PaymentPage, error) {
	got, err := c.api.CheckoutSessions.Expire(sessionID, &stripe.CheckoutSessionExpireParams{Params: params(ctx, accountID, "")})
	if err := c.failed(ctx, "expire payment page", err, got.ID != ""); err != nil {
		return PaymentPage{}, err
	}
	return session(got), nil
}

func session(s *stripe.CheckoutSession) PaymentPage {
	out := PaymentPage{
		ID: s.ID, OrderID: s.Metadata[metaOrder], URL: s.URL, Status: string(s.Status),
		TotalCents: s.AmountTotal, Currency: string(s.Currency), CustomerEmail: s.CustomerEmail,
		ExpiresAt: time.Unix(s.ExpiresAt, 0).UTC(),
	}
	out.Paid = s.Status == stripe.CheckoutSessionStatusComplete &&
		(s.PaymentStatus == stripe.CheckoutSessionPaymentStatusPaid ||
			s.PaymentStatus == stripe.CheckoutSessionPaymentStatusNoPaymentRequired)
	if s.PaymentIntent != nil {
		out.PaymentIntentID = s.PaymentIntent.ID
		ended := s.PaymentIntent.Status == stripe.PaymentIntentStatusRequiresPaymentMethod ||
			s.PaymentIntent.Status == stripe.PaymentIntentStatusCanceled
		out.Failed = ended && !out.Paid && s.Status == stripe.CheckoutSessionStatusComplete
	}
	if s.CustomerDetails != nil && s.CustomerDetails.Email != "" {
		out.CustomerEmail = s.CustomerDetails.Email // the address that was typed on the page
	}
	return out
}
