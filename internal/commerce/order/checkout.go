package order

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/tenancy"
)

// Cart is a buyer's order; the handler has checked its limits.
type Cart struct {
	// Lines may contain a product several times.
	Lines []catalog.Line
	// StreamID is nil for a purchase outside of a stream.
	StreamID                          *string
	CustomerEmail, CustomerExternalID string
	// CustomerName is nil if the buyer gave none.
	CustomerName *string
	// DiscountCode is empty for none.
	DiscountCode          string
	SuccessURL, CancelURL string
	Metadata              map[string]string
}

// Checkout is a payment page.
type Checkout struct {
	URL, SessionID, OrderID string
	ExpiresAt               time.Time
}

// CreateCheckout writes a PENDING order, which holds its units and one use of its
// code, and has the processor make the payment page. The call to the processor is
// between two transactions and isn't retried. If it is unknown whether the page
// was made, the order waits for CheckOrder; if it was definitely not made, the
// order expires at once.
func (s *Service) CreateCheckout(ctx context.Context, c tenancy.Caller, in Cart) (Checkout, error) {
	fee, err := s.config.Settings.PlatformFee(ctx)
	if err != nil {
		return Checkout{}, fmt.Errorf("read the platform's fee: %w", err)
	}
	var o newOrder
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		o, err = s.place(ctx, tx, c.TenantID, in, fee)
		return err
	})
	if err != nil {
		return Checkout{}, err
	}
	// The order exists now: if the client disconnects, we must still learn about its
	// page.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTime)
	defer cancel()
	page, err := s.config.Processor.CreatePage(ctx, cartPage(o))
	if err != nil {
		return Checkout{}, s.noPage(ctx, o, err)
	}
	if err := s.attach(ctx, o.TenantID, o.ID, page); err != nil {
		// The page exists and can be paid; CheckOrder finds it again.
		s.config.Log.Error("a payment page is not stored yet", "order", o.ID, "error", err)
	}
	return Checkout{URL: page.URL, SessionID: page.ID, OrderID: o.ID, ExpiresAt: page.ExpiresAt}, nil
}

// noPage handles a checkout whose page was not made, or may not have been. The
// order keeps holding its units only in the second case.
func (s *Service) noPage(ctx context.Context, o newOrder, err error) error {
	switch processor.OutcomeOf(err) {
	case processor.Refused:
		s.config.Log.Warn("the processor refused a checkout", "tenant", o.TenantID, "order", o.ID, "error", err)
		s.clear(ctx, o)
		// The reason may be a price that the seller has deactivated at the processor. The
		// next page doesn't use these prices.
		if err := s.config.Catalog.ForgetPrices(ctx, o.TenantID, o.ProductIds); err != nil {
			s.config.Log.Error("the prices of a refused checkout are kept", "order", o.ID, "error", err)
		}
		return errCheckoutRefused(err)
	case processor.NotDone:
		s.clear(ctx, o)
		return errNoPage(err)
	default:
		return errPageUnknown(o.ID, err)
	}
}

// clear expires an order that definitely has no page.
func (s *Service) clear(ctx context.Context, o newOrder) {
	if err := s.expireWithoutPage(ctx, o.TenantID, o.ID); err != nil {
		// CheckOrder does it later.
		s.config.Log.Error("a checkout without a page still holds its units", "order", o.ID, "error", err)
	}
}

// attach stores the page of an order.
func (s *Service) attach(ctx context.Context, tenantID, orderID string, page processor.PaymentPage) error {
	now := s.config.Now()
	err := db.New(s.config.Pool).AttachPage(ctx, db.AttachPageParams{
		TenantID: tenantID, ID: orderID, SessionID: &page.ID, URL: &page.URL, ExpiresAt: page.ExpiresAt,
		CheckAt: now.Add(firstCheck), Now: now,
	})
	if err != nil {
		return fmt.Errorf("attach the page of order %s: %w", orderID, err)
	}
	return nil
}

// cartPage describes the page for a cart.
func cartPage(o newOrder) processor.NewPaymentPage {
	p := processor.NewPaymentPage{
		AccountID: *o.ProcessorAccountID, OrderID: o.ID, TenantID: o.TenantID, Currency: strings.ToLower(o.Currency),
		DiscountCents: o.DiscountCents, FeeCents: o.ApplicationFeeCents, CustomerEmail: *o.CustomerEmail,
		SuccessURL: o.SuccessURL, CancelURL: o.CancelURL, ExpiresAt: o.ExpiresAt,
	}
	if o.DiscountCode != nil {
		p.DiscountName = *o.DiscountCode
	}
	for _, l := range o.lines {
		product := o.products[l.ProductID]
		line := processor.Line{Name: product.Name, UnitCents: product.PriceCents, Quantity: l.Quantity}
		if product.ProcessorPriceID != nil {
			line.PriceID = *product.ProcessorPriceID
		}
		if product.ImageURL != nil {
			line.ImageURL = *product.ImageURL
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}
