package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/audit"
)

// ApplyPaymentPage brings an order in line with its payment page: PAID, REVIEW if the
// payment is below the total or in another currency, EXPIRED, or unchanged. accountID
// is the seller's account that sent the report. Reports may be repeated and may come
// in any order. A page that doesn't belong to the order that it names is logged.
func (s *Service) ApplyPaymentPage(ctx context.Context, accountID string, p processor.PaymentPage) error {
	found, err := db.New(s.config.Pool).FindOrderOfPage(ctx, db.FindOrderOfPageParams{SessionID: &p.ID, OrderID: p.OrderID})
	if errors.Is(err, pgx.ErrNoRows) {
		s.logUnrelated(accountID, p)
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the order of page %s: %w", p.ID, err)
	}
	return s.change(ctx, found.TenantID, found.ID, found.AuctionID, func(tx pgx.Tx, o db.Order) error {
		switch outcomeOf(o, accountID, p) {
		case unrelated:
			postgres.AfterCommit(tx, func() { s.logUnrelated(accountID, p) }) // once, even if the transaction runs again
		case pays:
			return s.pay(ctx, tx, o, paymentOf(o, p))
		case mismatches:
			return s.review(ctx, tx, o, paymentOf(o, p))
		case expires:
			return s.expireLocked(ctx, tx, o, &p.ID)
		case waits:
			return s.await(ctx, tx, o, p)
		case nothing:
		}
		return nil
	})
}

// unrelatedPaid is the status given to Config.Observe for a paid page that names an order
// and doesn't belong to it.
const unrelatedPaid = "UNMATCHED"

// logUnrelated logs a page that names an order and doesn't belong to it, and counts
// it if it was paid. Pages that name no order are the seller's own.
func (s *Service) logUnrelated(accountID string, p processor.PaymentPage) {
	if p.OrderID == "" {
		return
	}
	level := slog.LevelWarn
	if p.Paid {
		level = slog.LevelError
		s.observe(unrelatedPaid)
	}
	s.config.Log.Log(context.Background(), level, "a payment page isn't its order's", "account", accountID, "session", p.ID,
		"order", p.OrderID, "paid", p.Paid, "cents", p.TotalCents, "currency", p.Currency)
}

// payment is the processor's charge for an order.
type payment struct {
	pageID string
	// intentID is nil if the total was 0.
	intentID *string
	// email is the address that the buyer typed; it may be empty.
	email string
	// cents and currency (upper case) are nil if they equal the order's.
	cents    *int64
	currency *string
}

func paymentOf(o db.Order, p processor.PaymentPage) payment {
	paid := payment{pageID: p.ID, intentID: optional(p.PaymentIntentID), email: p.CustomerEmail}
	paid.cents, paid.currency = paidColumns(o, p)
	return paid
}

// of returns the order with the payment's fields set.
func (p payment) of(o db.Order) db.Order {
	o.PaymentIntentID, o.PaidCents, o.PaidCurrency = p.intentID, p.cents, p.currency
	if o.CustomerEmail == nil {
		o.CustomerEmail = &p.email
	}
	return o
}

// change locks an order, its auction first, and calls f in the same transaction.
func (s *Service) change(ctx context.Context, tenantID, orderID string, auctionID *string, f func(tx pgx.Tx, o db.Order) error) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		if auctionID != nil {
			if err := s.config.Auctions.LockTx(ctx, tx, tenantID, *auctionID); err != nil {
				return fmt.Errorf("lock the auction of order %s: %w", orderID, err)
			}
		}
		o, err := db.New(tx).LockOrder(ctx, db.LockOrderParams{TenantID: tenantID, ID: orderID})
		if err != nil {
			return fmt.Errorf("lock order %s: %w", orderID, err)
		}
		return f(tx, o)
	})
}

// pay makes a locked order PAID. Only a PENDING order holds its units; one in EXPIRED
// or REVIEW is sold all the same, and its stock ends at 0.
func (s *Service) pay(ctx context.Context, tx pgx.Tx, o db.Order, paid payment) error {
	q, now, held := db.New(tx), s.config.Now(), o.Status == Pending
	items, lines, products, err := lockLines(ctx, tx, o)
	if err != nil {
		return err
	}
	err = q.PayOrder(ctx, db.PayOrderParams{
		TenantID: o.TenantID, ID: o.ID, SessionID: &paid.pageID, PaymentIntentID: paid.intentID,
		PaidCents: paid.cents, PaidCurrency: paid.currency, CustomerEmail: optional(paid.email), Now: now,
	})
	if err != nil {
		return fmt.Errorf("mark order %s as paid: %w", o.ID, err)
	}
	if err := s.config.Catalog.TakeTx(ctx, tx, o.TenantID, o.ID, lines, held); err != nil {
		return err
	}
	if o.DiscountID != nil {
		if err := s.config.Discounts.RedeemTx(ctx, tx, o.TenantID, *o.DiscountID, held); err != nil {
			return err
		}
	}
	if o.AuctionID != nil {
		if err := s.config.Auctions.SettleTx(ctx, tx, o.TenantID, *o.AuctionID, now); err != nil {
			return err
		}
	}
	err = s.config.Events.EmitTx(ctx, tx, event.Event{
		TenantID: o.TenantID, Name: event.PurchaseCompleted, Subject: o.ID, Data: purchaseCompletedData(paid.of(o), items),
	})
	if err != nil {
		return err
	}
	if err := s.cachePrices(ctx, tx, o, products); err != nil {
		return err
	}
	sold := unitChange{stock: -1}
	if held {
		sold.held = -1
	}
	s.observeCommitted(tx, Paid)
	s.publishStock(ctx, tx, o.StreamID, lines, products, sold)
	return nil
}

// review puts a locked order into REVIEW, because the payment is below the total or in
// another currency. It is not PAID: sellers ship PAID orders. It is not PENDING: its
// units would be held until the seller decides, which may be never.
func (s *Service) review(ctx context.Context, tx pgx.Tx, o db.Order, paid payment) error {
	q, now := db.New(tx), s.config.Now()
	s.observeCommitted(tx, Review)
	if o.Status == Pending {
		if err := s.release(ctx, tx, o); err != nil {
			return err
		}
	}
	err := q.ReviewOrder(ctx, db.ReviewOrderParams{
		TenantID: o.TenantID, ID: o.ID, SessionID: &paid.pageID, PaymentIntentID: paid.intentID,
		PaidCents: paid.cents, PaidCurrency: paid.currency, CustomerEmail: optional(paid.email), Now: now,
	})
	if err != nil {
		return fmt.Errorf("put order %s under review: %w", o.ID, err)
	}
	s.config.Log.Error("an order was paid with too little or in another currency",
		"tenant", o.TenantID, "order", o.ID, "session", paid.pageID,
		"cents", o.TotalCents, "currency", o.Currency, "paidCents", *paid.cents, "paidCurrency", *paid.currency)
	err = audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: audit.System("processor"), TenantID: o.TenantID, Action: "order.review", Entity: "order", EntityID: o.ID,
		Before: map[string]any{"status": o.Status, "totalCents": o.TotalCents, "currency": strings.ToLower(o.Currency)},
		After:  map[string]any{"status": Review, "paidTotalCents": *paid.cents, "paidCurrency": strings.ToLower(*paid.currency)},
	})
	if err != nil {
		return err
	}
	return s.config.Events.EmitTx(ctx, tx, event.Event{
		TenantID: o.TenantID, Name: event.PurchaseMismatched, Subject: o.ID, Data: purchaseMismatchedData(paid.of(o)),
	})
}

// expireLocked makes a locked PENDING order EXPIRED and releases everything that it
// holds.
func (s *Service) expireLocked(ctx context.Context, tx pgx.Tx, o db.Order, sessionID *string) error {
	s.observeCommitted(tx, Expired)
	if err := s.release(ctx, tx, o); err != nil {
		return err
	}
	err := db.New(tx).ExpireOrder(ctx, db.ExpireOrderParams{TenantID: o.TenantID, ID: o.ID, SessionID: sessionID, Now: s.config.Now()})
	if err != nil {
		return fmt.Errorf("expire order %s: %w", o.ID, err)
	}
	return nil
}

// release frees the units and the discount use that a locked PENDING order holds.
func (s *Service) release(ctx context.Context, tx pgx.Tx, o db.Order) error {
	_, lines, products, err := lockLines(ctx, tx, o)
	if err != nil {
		return err
	}
	if err := catalog.ReleaseTx(ctx, tx, o.TenantID, lines); err != nil {
		return err
	}
	if o.DiscountID != nil {
		if err := s.config.Discounts.ReleaseTx(ctx, tx, o.TenantID, *o.DiscountID); err != nil {
			return err
		}
	}
	s.publishStock(ctx, tx, o.StreamID, lines, products, unitChange{held: -1})
	return nil
}

// await stores the state of a page that is open or whose payment takes days, and
// when to ask again.
func (s *Service) await(ctx context.Context, tx pgx.Tx, o db.Order, p processor.PaymentPage) error {
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

// expireWithoutPage makes an order EXPIRED for which the processor has no page, unless that
// has changed meanwhile.
func (s *Service) expireWithoutPage(ctx context.Context, tenantID, orderID string) error {
	return s.change(ctx, tenantID, orderID, nil, func(tx pgx.Tx, o db.Order) error {
		if o.Status != Pending || o.CheckoutSessionID != nil {
			return nil
		}
		return s.expireLocked(ctx, tx, o, nil)
	})
}

// lockLines locks the products of an order's items.
func lockLines(ctx context.Context, tx pgx.Tx, o db.Order) ([]db.OrderItem, []catalog.Line, map[string]db.Product, error) {
	items, err := db.New(tx).ListOrderItems(ctx, db.ListOrderItemsParams{TenantID: o.TenantID, OrderIds: []string{o.ID}})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("list items of order %s: %w", o.ID, err)
	}
	lines, ids := make([]catalog.Line, len(items)), make([]string, len(items))
	for i, item := range items {
		lines[i], ids[i] = catalog.Line{ProductID: item.ProductID, Quantity: int64(item.Quantity)}, item.ProductID
	}
	products, err := catalog.LockTx(ctx, tx, o.TenantID, ids)
	return items, lines, products, err
}

// cachePrices enqueues jobs that create the processor's prices of products sold
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
