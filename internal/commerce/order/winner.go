package order

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/metadata"
	"showfloor/internal/commerce/processor"
)

// Winner describes a won auction.
type Winner struct {
	TenantID, StreamID, AuctionID string
	ProductID, ProductName        string
	BidderExternalID              string
	// BidderName is the name in the winning bid.
	BidderName string
	// Currency is an ISO 4217 code in upper case.
	Currency string
	// AmountCents is the winning bid.
	AmountCents int64
}

// CreateForWinnerTx creates, in the caller's transaction, the PENDING order of an
// auction's winner, and enqueues the job that opens its payment page. The unit
// that the auction holds passes to the order, so the number of held units doesn't
// change. The seller's account and the fee are determined when the page is opened.
func (s *Service) CreateForWinnerTx(ctx context.Context, tx pgx.Tx, w Winner) (orderID string, err error) {
	now := s.config.Now()
	// The page names the seller of the stream.
	page := s.config.PublicURL + "/purchase?room=" + w.StreamID + "&result="
	o := db.CreateOrderParams{
		ID: id.New(id.Order), TenantID: w.TenantID, StreamID: &w.StreamID, AuctionID: &w.AuctionID, CustomerExternalID: w.BidderExternalID,
		CustomerName: &w.BidderName, SubtotalCents: w.AmountCents, TotalCents: w.AmountCents, Currency: w.Currency,
		SuccessURL: page + "paid", CancelURL: page + "cancelled",
		Metadata: json.RawMessage(metadata.None), ExpiresAt: now.Add(winnerLife).Truncate(time.Second), CheckAt: now.Add(firstCheck), Now: now,
		ProductIds: []string{w.ProductID}, Names: []string{w.ProductName}, PricesCents: []int64{w.AmountCents}, Quantities: []int32{1},
	}
	if err := db.New(tx).CreateOrder(ctx, o); err != nil {
		return "", fmt.Errorf("create the winner's order: %w", err)
	}
	if _, err := s.config.Jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{Args: CheckArgs{OrderID: o.ID}}}); err != nil {
		return "", fmt.Errorf("enqueue the winner's page: %w", err)
	}
	return o.ID, nil
}

// openPage makes a winner's page if the processor has none. A seller who can't
// charge yet has time until the order's end.
func (s *Service) openPage(ctx context.Context, o db.Order) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	seller, err := q.GetCheckoutSeller(ctx, db.GetCheckoutSellerParams{TenantID: o.TenantID, StreamID: o.StreamID})
	if err != nil {
		return fmt.Errorf("get the seller of order %s: %w", o.ID, err)
	}
	if !seller.ChargesEnabled || seller.AccountID == "" {
		return s.postpone(ctx, o, now.Add(onboardingPause))
	}
	if o.ProcessorAccountID == nil {
		o.ProcessorAccountID = &seller.AccountID
	}
	fee, err := s.config.Settings.PlatformFee(ctx)
	if err != nil {
		return fmt.Errorf("read the platform's fee: %w", err)
	}
	o.ApplicationFeeCents = fee.Of(o.TotalCents)
	if soonest := now.Add(cartLife); o.ExpiresAt.Before(soonest) {
		o.ExpiresAt = soonest.Truncate(time.Second)
	}
	// Stored before the processor is asked: from now on there may be a page.
	claimed, err := q.ClaimPage(ctx, db.ClaimPageParams{
		TenantID: o.TenantID, ID: o.ID, AccountID: o.ProcessorAccountID, FeeCents: o.ApplicationFeeCents, ExpiresAt: o.ExpiresAt, Now: now,
	})
	if err != nil {
		return fmt.Errorf("claim the page of order %s: %w", o.ID, err)
	}
	if claimed == 0 { // the order has ended meanwhile, or has a page
		return nil
	}
	view, err := withDetails(ctx, q, o.TenantID, o)
	if err != nil {
		return err
	}
	page, err := s.config.Processor.CreatePage(ctx, winnerPage(view[0]))
	if refusal, ok := errors.AsType[*processor.Refusal](err); ok {
		s.config.Log.Error("the processor refused a winner's page", "tenant", o.TenantID, "order", o.ID, "error", refusal)
		return s.expireWithoutPage(ctx, o.TenantID, o.ID)
	}
	if err != nil {
		return err
	}
	return s.attach(ctx, o.TenantID, o.ID, page)
}

func winnerPage(v View) processor.NewPaymentPage {
	p := processor.NewPaymentPage{
		AccountID: *v.ProcessorAccountID, OrderID: v.ID, TenantID: v.TenantID, Currency: strings.ToLower(v.Currency),
		FeeCents: v.ApplicationFeeCents, SuccessURL: v.SuccessURL, CancelURL: v.CancelURL, ExpiresAt: v.ExpiresAt,
	}
	for _, item := range v.Items {
		p.Lines = append(p.Lines, processor.Line{Name: item.Name, UnitCents: item.PriceCents, Quantity: int64(item.Quantity)})
	}
	return p
}
