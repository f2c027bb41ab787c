package order

import (
	"errors"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/processor"
)

// The states of an order.
const (
	Pending           = "PENDING"
	Review            = "REVIEW"
	Paid              = "PAID"
	Fulfilled         = "FULFILLED"
	Expired           = "EXPIRED"
	PartiallyRefunded = "PARTIALLY_REFUNDED"
	Refunded          = "REFUNDED"
)

const (
	// cartLife is how long a cart's page is open. The processor requires at least half
	// an hour from when it receives the request.
	cartLife = 31 * time.Minute
	// winnerLife is how long an auction's winner may take to pay. The processor keeps
	// a page open for at most a day.
	winnerLife = 24*time.Hour - time.Minute
	// pageTime is the deadline for the two calls in which the processor makes a page.
	pageTime = 45 * time.Second
	// firstCheck is when the processor is first asked about a page: well after
	// pageTime.
	firstCheck = 2 * time.Minute
	// longestPause is the maximum pause between two checks.
	longestPause = 15 * time.Minute
	// longestRefused is the maximum pause while the processor refuses to answer about
	// a page.
	longestRefused = 6 * time.Hour
	// mostDoublings is how often a pause is doubled at most.
	mostDoublings = 9
	// settling is the pause between checks of a payment that takes days.
	settling = time.Hour
	// margin is how long after the last possible request a page may still appear at
	// the processor.
	margin = 5 * time.Minute
	// closing is how long after its end we close an open page.
	closing = 10 * time.Second
	// onboardingPause is the pause between checks whether an auction's seller can
	// charge.
	onboardingPause = time.Minute
)

// merge sums the lines of each product and keeps the order of their first lines.
func merge(lines []catalog.Line) []catalog.Line {
	at := make(map[string]int, len(lines))
	merged := make([]catalog.Line, 0, len(lines))
	for _, l := range lines {
		if i, known := at[l.ProductID]; known {
			merged[i].Quantity += l.Quantity
			continue
		}
		at[l.ProductID] = len(merged)
		merged = append(merged, l)
	}
	return merged
}

// price sums a cart of merged lines, whose products must all be in the map. The
// maximum, 100 lines of 10 000 units for 99 999 999 cents, is far below an
// overflow.
func price(lines []catalog.Line, products map[string]db.Product) (subtotalCents int64, currency string, err error) {
	for _, l := range lines {
		if p := products[l.ProductID]; !p.Active {
			return 0, "", problem.Conflicting("the product %q (%s) is archived", p.Name, p.ID)
		}
	}
	currency = products[lines[0].ProductID].Currency
	for _, l := range lines {
		if products[l.ProductID].Currency != currency {
			return 0, "", problem.New(problem.Invalid, "mixed_currencies", "all items must share one currency")
		}
	}
	for _, l := range lines {
		p := products[l.ProductID]
		if err := catalog.CheckFree(p, l.Quantity); err != nil {
			return 0, "", err
		}
		subtotalCents += p.PriceCents * l.Quantity
	}
	return subtotalCents, currency, nil
}

// pageOutcome is the effect of a payment page's state on its order.
type pageOutcome int

const (
	// nothing: the order has this page's result already, or its status is final.
	nothing pageOutcome = iota
	// unrelated: the page doesn't belong to the order.
	unrelated
	// waits: the page is open, or its payment takes days.
	waits
	// expires: the page can't be paid any more and was not paid.
	expires
	// pays: the page is paid, and the payment covers the order.
	pays
	// mismatches: the payment is below the order's total, or in another currency.
	mismatches
)

// outcomeOf compares a payment page with an order and returns the consequence for
// it. A page belongs to the order by account and id. If the order has no page id yet,
// the page must name the order in its metadata, and an unpaid page must ask for the
// order's total too: a seller can make pages with any metadata on their own account,
// and an open one would hold the units. The amount of an unpaid page is not judged
// otherwise, because the buyer can still switch its currency.
func outcomeOf(o db.Order, accountID string, p processor.PaymentPage) pageOutcome {
	noted := o.CheckoutSessionID != nil
	switch {
	case o.ProcessorAccountID == nil || *o.ProcessorAccountID != accountID,
		noted && *o.CheckoutSessionID != p.ID,
		!noted && p.OrderID != o.ID,
		!noted && !p.Paid && (p.TotalCents != o.TotalCents || !sameCurrency(o, p)):
		return unrelated
	case p.Paid && (o.Status == Pending || o.Status == Expired):
		if p.TotalCents >= o.TotalCents && sameCurrency(o, p) {
			return pays
		}
		return mismatches
	case o.Status != Pending || p.Paid:
		return nothing
	case p.Status == processor.Expired || p.Failed:
		return expires
	default:
		return waits
	}
}

func sameCurrency(o db.Order, p processor.PaymentPage) bool {
	return strings.EqualFold(p.Currency, o.Currency)
}

// paidColumns returns the paid amount and currency (upper case) of a page, for the
// order's columns paid_cents and paid_currency. Both are nil if they equal the
// order's total and currency.
func paidColumns(o db.Order, p processor.PaymentPage) (cents *int64, currency *string) {
	if p.TotalCents == o.TotalCents && sameCurrency(o, p) {
		return nil, nil
	}
	return &p.TotalCents, new(strings.ToUpper(p.Currency))
}

// paidAmount returns what the buyer of a paid order was charged, in cents, and the
// currency in upper case.
func paidAmount(o db.Order) (cents int64, currency string) {
	if o.PaidCents != nil {
		return *o.PaidCents, *o.PaidCurrency
	}
	return o.TotalCents, o.Currency
}

// noPageAt is the time from which an order has no page if the processor knows of
// none. A cart's page is requested once, right after the order was written. If the
// process died before the request, the units are freed after margin and not held
// for half an hour. A winner's page may be requested until the order's end.
func noPageAt(o db.Order) time.Time {
	if o.AuctionID == nil {
		return o.CreatedAt.Add(margin)
	}
	return o.ExpiresAt.Add(margin)
}

// nextCheck is when the processor is asked again about a waiting order, given the
// number of checks so far: after 1, 2, 4 … 15 minutes, but at the latest when the
// page's time is over, if that is in the future.
func nextCheck(now, expiresAt time.Time, checks int32) time.Time {
	next := now.Add(min(time.Minute<<min(checks, 4), longestPause))
	if end := expiresAt.Add(closing); now.Before(end) && next.After(end) {
		return end
	}
	return next
}

// fulfilmentStatus returns the status of an order after fulfilment, or a conflict if the
// order can't be fulfilled. An order in REVIEW must not have been refunded in part:
// the seller accepts the paid amount as a whole.
func fulfilmentStatus(o db.Order) (status string, err error) {
	switch o.Status {
	case Review:
		if o.RefundedCents > 0 {
			return "", problem.Conflicting("the order is in REVIEW and was refunded in part; refund the rest")
		}
		return Fulfilled, nil
	case Paid, Fulfilled:
		return Fulfilled, nil
	case PartiallyRefunded:
		return PartiallyRefunded, nil
	case Refunded:
		return "", problem.Conflicting("the order was refunded in full")
	default:
		return "", problem.Conflicting("the order is not paid")
	}
}

// errCheckoutRefused is the caller's problem when the processor refuses to make a page. The
// processor's own message is included only for codes whose message is about the
// cart.
func errCheckoutRefused(err error) error {
	if r, ok := errors.AsType[*processor.Refusal](err); ok {
		switch r.Code {
		case "amount_too_small", "amount_too_large", "email_invalid", "url_invalid":
			return problem.New(problem.Invalid, "checkout_refused", "the payment processor refused this checkout: %s", r.Message)
		}
	}
	return problem.New(problem.Invalid, "checkout_refused", "the payment processor refused this checkout")
}

// errNoPage is the caller's problem when there is definitely no page.
func errNoPage(err error) error {
	return errors.Join(problem.New(problem.Unavailable, "processor_unavailable",
		"the payment processor can't be reached; no payment page was made and nothing is held: try again later"), err)
}

// errPageUnknown is the caller's problem when it is unknown whether there is a page:
// another try could make a second one.
func errPageUnknown(orderID string, err error) error {
	if !problem.Is(err, "processor_unavailable") {
		return err
	}
	return errors.Join(problem.New(problem.Unavailable, "processor_unavailable",
		"the payment processor can't be reached; the page of order %s may have been made all the same: look at the order before you try again",
		orderID), err)
}
