package order

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/catalog"
	"showfloor/internal/event"
	"showfloor/internal/postgres"
	"showfloor/internal/processor"
)

// ApplySession does to an order what a payment page says: PAID, once however
// often and in whatever order reports come, EXPIRED, or nothing. accountID is
// whose account the report came from; what doesn't belong to the order that it
// names is ignored.
func (s *Service) ApplySession(ctx context.Context, accountID string, p processor.Session) error {
	found, err := db.New(s.config.Pool).FindOrderOfSession(ctx, db.FindOrderOfSessionParams{SessionID: &p.ID, OrderID: p.OrderID})
	if errors.Is(err, pgx.ErrNoRows) {
		s.config.Log.Warn("a payment page belongs to no order", "account", accountID, "session", p.ID, "order", p.OrderID, "paid", p.Paid)
		return nil
	}
	if err != nil {
		return fmt.Errorf("find order of session %s: %w", p.ID, err)
	}
	return s.change(ctx, found.TenantID, found.ID, found.AuctionID, func(ctx context.Context, tx pgx.Tx, o db.Order) (effect, error) {
		switch judge(o, accountID, p) {
		case stranger:
			s.config.Log.Warn("a payment page isn't its order's", "account", accountID, "session", p.ID, "order", o.ID, "paid", p.Paid,
				"cents", p.TotalCents, "currency", p.Currency)
			return effect{}, nil
		case pays:
			return s.pay(ctx, tx, o, p)
		case expires:
			return s.giveBack(ctx, tx, o, &p.ID)
		case waits:
			return effect{}, s.await(ctx, tx, o, p)
		case nothing:
		}
		return effect{}, nil
	})
}

// effect is what who watches hears of a change: the order's new status, empty when
// it stays, and what is free now.
type effect struct {
	status string
	ticks  []catalog.Tick
}

// change locks an order, its auction first, and changes it in one transaction;
// after the commit, who watches hears of it.
func (s *Service) change(
	ctx context.Context, tenantID, orderID string, auctionID *string, f func(ctx context.Context, tx pgx.Tx, o db.Order) (effect, error),
) error {
	var done effect
	var streamID string
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if auctionID != nil {
			if _, err := q.LockAuction(ctx, db.LockAuctionParams{TenantID: tenantID, ID: *auctionID}); err != nil {
				return fmt.Errorf("lock the auction of order %s: %w", orderID, err)
			}
		}
		o, err := q.LockOrder(ctx, db.LockOrderParams{TenantID: tenantID, ID: orderID})
		if err != nil {
			return fmt.Errorf("lock order %s: %w", orderID, err)
		}
		streamID = o.StreamID
		done, err = f(ctx, tx, o)
		return err
	})
	if err != nil {
		return err
	}
	s.observe(done.status)
	s.publish(context.WithoutCancel(ctx), streamID, done.ticks)
	return nil
}

// pay makes a locked order PAID. One that had expired already holds nothing any
// more: what was paid is sold all the same.
func (s *Service) pay(ctx context.Context, tx pgx.Tx, o db.Order, p processor.Session) (effect, error) {
	q, now, held := db.New(tx), s.config.Now(), o.Status == Pending
	items, lines, products, err := lockLines(ctx, tx, o)
	if err != nil {
		return effect{}, err
	}
	err = q.PayOrder(ctx, db.PayOrderParams{
		TenantID: o.TenantID, ID: o.ID, SessionID: &p.ID,
		PaymentIntentID: optional(p.PaymentIntentID), CustomerEmail: optional(p.CustomerEmail), Now: now,
	})
	if err != nil {
		return effect{}, fmt.Errorf("mark order %s as paid: %w", o.ID, err)
	}
	if err := s.config.Catalog.Take(ctx, tx, o.TenantID, o.ID, lines, held); err != nil {
		return effect{}, err
	}
	if o.DiscountID != nil {
		if err := s.config.Discounts.Redeem(ctx, tx, o.TenantID, *o.DiscountID, held); err != nil {
			return effect{}, err
		}
	}
	if o.AuctionID != nil {
		if err := q.SetAuctionSettled(ctx, db.SetAuctionSettledParams{TenantID: o.TenantID, ID: *o.AuctionID, Now: now}); err != nil {
			return effect{}, fmt.Errorf("settle the auction of order %s: %w", o.ID, err)
		}
	}
	if o.CustomerEmail == nil {
		o.CustomerEmail = &p.CustomerEmail
	}
	err = s.config.Events.Emit(ctx, tx, event.Event{
		TenantID: o.TenantID, Name: event.PurchaseCompleted, Subject: o.ID, Data: purchase(o, p.PaymentIntentID, items),
	})
	if err != nil {
		return effect{}, err
	}
	if err := s.cachePrices(ctx, tx, o, products); err != nil {
		return effect{}, err
	}
	return effect{Paid, ticks(lines, products, func(n int64) change {
		if held {
			return change{stock: -n, held: -n}
		}
		return change{stock: -n}
	})}, nil
}

// giveBack makes a locked PENDING order EXPIRED and releases all that it holds.
func (s *Service) giveBack(ctx context.Context, tx pgx.Tx, o db.Order, sessionID *string) (effect, error) {
	_, lines, products, err := lockLines(ctx, tx, o)
	if err != nil {
		return effect{}, err
	}
	err = db.New(tx).ExpireOrder(ctx, db.ExpireOrderParams{TenantID: o.TenantID, ID: o.ID, SessionID: sessionID, Now: s.config.Now()})
	if err != nil {
		return effect{}, fmt.Errorf("expire order %s: %w", o.ID, err)
	}
	if err := catalog.Release(ctx, tx, o.TenantID, lines); err != nil {
		return effect{}, err
	}
	if o.DiscountID != nil {
		if err := s.config.Discounts.Release(ctx, tx, o.TenantID, *o.DiscountID); err != nil {
			return effect{}, err
		}
	}
	return effect{Expired, ticks(lines, products, func(n int64) change { return change{held: -n} })}, nil
}

// await notes what a page says that isn't closed, or whose payment takes days, and
// when to ask again.
func (s *Service) await(ctx context.Context, tx pgx.Tx, o db.Order, p processor.Session) error {
	now := s.config.Now()
	a := db.AwaitOrderParams{
		TenantID: o.TenantID, ID: o.ID, SessionID: &p.ID, URL: p.URL, ExpiresAt: p.ExpiresAt, Checks: o.Checks + 1,
		CheckAt: nextCheck(now, p.ExpiresAt, o.Checks), Now: now,
	}
	if p.Status == processor.Complete {
		a.CheckAt = now.Add(settling)
	}
	if err := db.New(tx).AwaitOrder(ctx, a); err != nil {
		return fmt.Errorf("note the page of order %s: %w", o.ID, err)
	}
	return nil
}

// expire makes an order EXPIRED for which the processor has no page, unless that
// has changed by now.
func (s *Service) expire(ctx context.Context, tenantID, orderID string) error {
	return s.change(ctx, tenantID, orderID, nil, func(ctx context.Context, tx pgx.Tx, o db.Order) (effect, error) {
		if o.Status != Pending || o.CheckoutSessionID != nil {
			return effect{}, nil
		}
		return s.giveBack(ctx, tx, o, nil)
	})
}

// lockLines locks the products of an order.
func lockLines(ctx context.Context, tx pgx.Tx, o db.Order) ([]db.OrderItem, []catalog.Line, map[string]db.Product, error) {
	items, err := db.New(tx).ListOrderItems(ctx, db.ListOrderItemsParams{TenantID: o.TenantID, OrderIds: []string{o.ID}})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("list items of order %s: %w", o.ID, err)
	}
	lines, ids := make([]catalog.Line, len(items)), make([]string, len(items))
	for i, item := range items {
		lines[i], ids[i] = catalog.Line{ProductID: item.ProductID, Quantity: int64(item.Quantity)}, item.ProductID
	}
	products, err := catalog.Lock(ctx, tx, o.TenantID, ids)
	return items, lines, products, err
}

// cachePrices enqueues the jobs that make the processor's prices of what was sold
// for the first time.
func (s *Service) cachePrices(ctx context.Context, tx pgx.Tx, o db.Order, products map[string]db.Product) error {
	var jobs []river.InsertManyParams
	for _, p := range products {
		if p.ProcessorPriceID == nil {
			jobs = append(jobs, river.InsertManyParams{Args: catalog.CachePriceArgs{
				TenantID: o.TenantID, ProductID: p.ID, AccountID: *o.ProcessorAccountID,
			}})
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	if _, err := s.config.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("enqueue the prices of order %s: %w", o.ID, err)
	}
	return nil
}

// purchaseData is the data of purchase.completed.
type purchaseData struct {
	OrderID                  string          `json:"orderId"`
	ProcessorPaymentIntentID *string         `json:"processorPaymentIntentId"`
	CustomerEmail            string          `json:"customerEmail"`
	CustomerExternalID       string          `json:"customerExternalId"`
	StreamID                 string          `json:"streamId"`
	TotalCents               int64           `json:"totalCents"`
	Currency                 string          `json:"currency"`
	Items                    []purchasedItem `json:"items"`
}

type purchasedItem struct {
	ProductID  string `json:"productId"`
	Name       string `json:"name"`
	Quantity   int32  `json:"quantity"`
	PriceCents int64  `json:"priceCents"`
}

func purchase(o db.Order, paymentIntentID string, items []db.OrderItem) purchaseData {
	d := purchaseData{
		OrderID: o.ID, ProcessorPaymentIntentID: optional(paymentIntentID), CustomerEmail: *o.CustomerEmail,
		CustomerExternalID: o.CustomerExternalID, StreamID: o.StreamID, TotalCents: o.TotalCents, Currency: strings.ToLower(o.Currency),
		Items: make([]purchasedItem, len(items)),
	}
	for i, item := range items {
		d.Items[i] = purchasedItem{item.ProductID, item.Name, item.Quantity, item.PriceCents}
	}
	return d
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
