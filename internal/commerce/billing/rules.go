package billing

import (
	"strings"
	"time"

	"showfloor/internal/commerce/processor"
)

// concern is the subject of an event, as far as this package distinguishes it.
type concern int

const (
	ignored concern = iota
	page
	money
	dispute
	seller
	plan
)

// concerns returns the subject of an event. Events without an account are the platform's own, which sells plans.
func concerns(e processor.Event) concern {
	if e.AccountID == "" {
		return concernsPlan(e.Type)
	}
	switch e.Type {
	case "checkout.session.completed", "checkout.session.async_payment_succeeded",
		"checkout.session.async_payment_failed", "checkout.session.expired":
		return page
	case "charge.refunded", "charge.refund.updated", "refund.created", "refund.updated", "refund.failed":
		return money
	case "charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed",
		"charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated":
		return dispute
	case "account.updated", "account.application.deauthorized":
		return seller
	default:
		return ignored
	}
}

// concernsPlan returns plan for the types of reports after which a customer's subscriptions or invoices may have changed.
func concernsPlan(eventType string) concern {
	for _, prefix := range []string{
		"customer.", "invoice.", "checkout.session.", "subscription_schedule.", "charge.refund", "charge.dispute.", "payment_method.",
	} {
		if strings.HasPrefix(eventType, prefix) {
			return plan
		}
	}
	return ignored
}

const (
	// orderWithin is how long a report on a refund or dispute waits for its order: the report
	// of the payment, or a query for its page, may come that much later.
	orderWithin = 24 * time.Hour
	minWait     = 5 * time.Second
	maxWait     = time.Hour
)

// waitForOrder returns when to look again for the order of a refund or dispute, at
// growing intervals, and zero after orderWithin.
func waitForOrder(receivedAt, now time.Time) time.Time {
	age := now.Sub(receivedAt)
	if age > orderWithin {
		return time.Time{}
	}
	return now.Add(min(max(age, minWait), maxWait))
}
