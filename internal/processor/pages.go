package processor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
)

// CreatePage makes a payment page. It takes two calls where there is a discount,
// which the processor wants as an object of its own.
func (c *Client) CreatePage(ctx context.Context, p Page) (Session, error) {
	asked := pageParams(ctx, p)
	if p.DiscountCents > 0 {
		coupon, err := c.coupon(ctx, p)
		if f, failed := errors.AsType[*failure](err); failed {
			// Whether the coupon was made doesn't matter: the page wasn't asked for.
			f.notDone = true
		}
		if err != nil {
			return Session{}, err
		}
		asked.Discounts = []*stripe.CheckoutSessionDiscountParams{{Coupon: new(coupon)}}
	}
	made, err := c.api.CheckoutSessions.New(asked)
	if err := c.failed(ctx, "create payment page", err, made.ID != ""); err != nil {
		return Session{}, err
	}
	return session(made), nil
}

func pageParams(ctx context.Context, p Page) *stripe.CheckoutSessionParams {
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
	if total > 0 { // the processor makes no payment of nothing
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
	if strings.HasPrefix(l.ImageURL, "https://") { // the page itself is https, and shows no other
		product.Images = []*string{new(l.ImageURL)}
	}
	asked.PriceData = &stripe.CheckoutSessionLineItemPriceDataParams{
		Currency: new(currency), UnitAmount: new(l.UnitCents), ProductData: product,
	}
	return asked
}

// maxCouponName is how many characters the processor takes.
const maxCouponName = 40

// coupon makes the page's discount on the seller's account and returns its id. The
// id follows from the order's, so that a second try meets the first one's.
func (c *Client) coupon(ctx context.Context, p Page) (string, error) {
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

// GetPage is a payment page as it stands now.
func (c *Client) GetPage(ctx context.Context, accountID, sessionID string) (Session, error) {
	asked := &stripe.CheckoutSessionParams{Params: params(ctx, accountID, "")}
	asked.AddExpand("payment_intent") // which alone says that a payment has failed
	got, err := c.api.CheckoutSessions.Get(sessionID, asked)
	if err := c.failed(ctx, "get payment page", err, got.ID != ""); err != nil {
		return Session{}, err
	}
	return session(got), nil
}

const (
	// searchCalls and searchTime bound one FindPage: calls of 100 pages each, and the
	// time for all of them.
	searchCalls = 10
	searchTime  = 40 * time.Second
)

// Search is a search for a payment page on the seller's account.
type Search struct {
	AccountID string
	// Match tells whether a page is the one that is looked for.
	Match func(Session) bool
	// From and Until are when the page was made, by our clock and at the outside.
	From, Until time.Time
	// After is where to go on: Found.Next of the FindPage before; empty at first.
	After string
}

// Found is what a search has brought.
type Found struct {
	// Page is nil while none was found.
	Page *Session
	// Next is where the search goes on; empty when the whole period was searched.
	Next string
}

// FindPage looks for a payment page: what to do when CreatePage's answer was lost.
// The processor has no filter for an order's id, so the pages that the account made
// in the period are read, newest first, up to 1000 in one call and for 40 seconds
// at most; Found.Next says where the next call goes on. With an error it says how
// far this one came.
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

// ExpirePage closes a payment page, so that it can't be paid any more. A page that
// is closed already is a *Refusal: ask GetPage what became of it.
func (c *Client) ExpirePage(ctx context.Context, accountID, sessionID string) (Session, error) {
	got, err := c.api.CheckoutSessions.Expire(sessionID, &stripe.CheckoutSessionExpireParams{Params: params(ctx, accountID, "")})
	if err := c.failed(ctx, "expire payment page", err, got.ID != ""); err != nil {
		return Session{}, err
	}
	return session(got), nil
}

func session(s *stripe.CheckoutSession) Session {
	out := Session{
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
		out.CustomerEmail = s.CustomerDetails.Email // what was typed on the page
	}
	return out
}
