package subscription

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// Kinds of entries of the ledger.
const (
	kindNew          = "NEW"
	kindReactivation = "REACTIVATION"
	kindExpansion    = "EXPANSION"
	kindContraction  = "CONTRACTION"
	kindChurn        = "CHURN"
	kindPayment      = "PAYMENT"
	kindRefund       = "REFUND"
	kindFailure      = "FAILURE"
)

// bookRecurring adds the change of the monthly recurring revenue to the ledger.
func (c *changes) bookRecurring(ctx context.Context, before *db.Subscription, after db.Subscription) error {
	if before == nil {
		before = &db.Subscription{Currency: after.Currency}
	}
	if before.Currency != after.Currency && before.MonthlyCents > 0 { // amounts in different currencies are never added
		left := *before
		left.MonthlyCents, left.Status = 0, Canceled
		if err := c.bookRecurring(ctx, before, left); err != nil {
			return err
		}
		before = &db.Subscription{Currency: after.Currency}
	}
	delta := after.MonthlyCents - before.MonthlyCents
	if delta == 0 {
		return nil
	}
	kind := kindExpansion
	switch {
	case after.MonthlyCents == 0 && !earns(after.Status):
		kind = kindChurn
	case before.MonthlyCents == 0:
		had, err := c.q.HasRecurringRevenue(ctx, c.tenant.ID)
		switch {
		case err != nil:
			return fmt.Errorf("look for recurring revenue: %w", err)
		case !had:
			kind = kindNew
		case !earns(before.Status): // otherwise a discount of the whole price has ended
			kind = kindReactivation
		}
	case delta < 0:
		kind = kindContraction
	}
	return c.book(ctx, db.CreateRevenueEntryParams{
		SubscriptionID: &after.ID, Kind: kind, Plan: &after.Plan, Currency: after.Currency, AmountCents: delta, At: c.now,
	})
}

// bookMoney adds an invoice's new payments, refunds and failed attempts to the ledger.
func (c *changes) bookMoney(ctx context.Context, before *db.Invoice, after db.Invoice) error {
	if before == nil {
		before = &db.Invoice{}
	}
	paidAt := c.now
	if after.PaidAt != nil {
		paidAt = *after.PaidAt
	}
	entries := []struct {
		kind  string
		cents int64
		at    time.Time
	}{
		{kindPayment, after.PaidCents - before.PaidCents, paidAt},
		{kindRefund, after.RefundedCents - before.RefundedCents, c.now},
	}
	for range after.FailedAttempts - before.FailedAttempts {
		entries = append(entries, struct {
			kind  string
			cents int64
			at    time.Time
		}{kindFailure, after.TotalCents, c.now})
	}
	for _, e := range entries {
		if e.cents == 0 { // less than before is a reversal, such as a refund that failed
			continue
		}
		err := c.book(ctx, db.CreateRevenueEntryParams{
			SubscriptionID: after.SubscriptionID, InvoiceID: &after.ID, Kind: e.kind, Currency: after.Currency, AmountCents: e.cents, At: e.at,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *changes) book(ctx context.Context, e db.CreateRevenueEntryParams) error {
	e.TenantID = c.tenant.ID
	if err := c.q.CreateRevenueEntry(ctx, e); err != nil {
		return fmt.Errorf("create revenue entry %s: %w", e.Kind, err)
	}
	return nil
}
