package billing

import (
	"time"

	"showfloor/internal/processor"
)

// concern is what an event is about, as far as we care.
type concern int

const (
	nobody concern = iota
	page
	money
	dispute
	seller
)

// concerns tells what an event is about. Those without an account are the
// platform's own, which sells nothing yet.
func concerns(e processor.Event) concern {
	if e.AccountID == "" {
		return nobody
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
		return nobody
	}
}

const (
	// orderWithin is how long after a report on a refund or dispute its order is waited
	// for: reports of its payment may come that late, and looks at its page may.
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
