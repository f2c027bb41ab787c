package order

import (
	"errors"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/catalog"
	"showfloor/internal/problem"
	"showfloor/internal/processor"
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
	// cartLife is how long a cart's page is open: the processor wants half an hour
	// at least, when it hears of it.
	cartLife = 31 * time.Minute
	// winnerLife is how long an auction's winner may take; the processor lets a page
	// be open for a day at most.
	winnerLife = 24*time.Hour - time.Minute
	// pageTime is how long we wait for the processor to make a page, by two calls.
	pageTime = 45 * time.Second
	// firstCheck is when the processor is first asked what became of a page, or
	// whether there is one: well after pageTime.
	firstCheck = 2 * time.Minute
	// longestPause is between two such questions, at most.
	longestPause = 15 * time.Minute
	// longestRefused is the same for a page about which the processor won't tell.
	longestRefused = 6 * time.Hour
	// mostDoublings of a pause.
	mostDoublings = 9
	// settling is the pause between questions about a payment that takes days.
	settling = time.Hour
	// margin is how long after the last instant at which a page may have been asked
	// for we believe that there is none: one that was can't come up any more.
	margin = 5 * time.Minute
	// closing is how long after its end an open page is closed by us.
	closing = 10 * time.Second
	// onboardingPause is between two looks whether an auction's seller can charge.
	onboardingPause = time.Minute
)

// merge adds up the lines of one product, in the order in which they come first.
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

// price adds up a cart of merged lines whose products are all there. 100 lines of
// 10 000 units for 99 999 999 cents are far from an overflow.
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

// verdict is what a payment page's state means for its order.
type verdict int

const (
	// nothing: the order has come to the end that the page tells of, or to another
	// that the page can't change any more.
	nothing verdict = iota
	// unrelated: the page doesn't belong to the order.
	unrelated
	// waits: the page is open, or its payment takes days.
	waits
	// expires: nobody can pay there any more, and nobody has.
	expires
	// pays: the money is there, and covers the order.
	pays
	// mispays: the payment is below the order's total, or in another currency.
	mispays
)

// judge compares a payment page with an order and returns what the page means for
// it. A page belongs to the order by account and id. If the order has no page id yet,
// the page must name the order in its metadata, and an unpaid page must ask for the
// order's total too: a seller can make pages with any metadata on their own account,
// and an open one would hold the units. The amount of an unpaid page is not judged
// otherwise, because the buyer can still switch its currency.
func judge(o db.Order, accountID string, p processor.Session) verdict {
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
		return mispays
	case o.Status != Pending || p.Paid:
		return nothing
	case p.Status == processor.Expired || p.Failed:
		return expires
	default:
		return waits
	}
}

func sameCurrency(o db.Order, p processor.Session) bool {
	return strings.EqualFold(p.Currency, o.Currency)
}

// mismatch returns the paid amount and currency (upper case) of a page, for the
// order's columns paid_cents and paid_currency. Both are nil if they equal the
// order's total and currency.
func mismatch(o db.Order, p processor.Session) (cents *int64, currency *string) {
	if p.TotalCents == o.TotalCents && sameCurrency(o, p) {
		return nil, nil
	}
	return &p.TotalCents, new(strings.ToUpper(p.Currency))
}

// charged returns the amount that the buyer of a paid order was charged, and its
// currency in upper case.
func charged(o db.Order) (cents int64, currency string) {
	if o.PaidCents != nil {
		return *o.PaidCents, *o.PaidCurrency
	}
	return o.TotalCents, o.Currency
}

// noPageAt is from when on an order has no page if the processor knows of none. A
// cart's is asked for once, right after the order was written: should that process
// have died, the units aren't held for the half hour of a page that isn't there. A
// winner's may be asked for until the order's end.
func noPageAt(o db.Order) time.Time {
	if o.AuctionID == nil {
		return o.CreatedAt.Add(margin)
	}
	return o.ExpiresAt.Add(margin)
}

// nextCheck is when the processor is asked again about an order that waits, having
// been asked in vain so many times before: after 1, 2, 4 … 15 minutes, but when the
// page's time is over at the latest, if that is ahead.
func nextCheck(now, expiresAt time.Time, checks int32) time.Time {
	next := now.Add(min(time.Minute<<min(checks, 4), longestPause))
	if end := expiresAt.Add(closing); now.Before(end) && next.After(end) {
		return end
	}
	return next
}

// fulfilled returns the status of an order after fulfilment, or a conflict if the
// order can't be fulfilled. An order in REVIEW must not have been refunded in part:
// the seller accepts the paid amount as a whole.
func fulfilled(o db.Order) (status string, err error) {
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

// refused is what a caller reads when the processor won't make a page. Its own
// sentence is shown only with codes whose sentence is about the cart.
func refused(err error) error {
	if r, ok := errors.AsType[*processor.Refusal](err); ok {
		switch r.Code {
		case "amount_too_small", "amount_too_large", "email_invalid", "url_invalid":
			return problem.New(problem.Invalid, "checkout_refused", "the payment processor refused this checkout: %s", r.Message)
		}
	}
	return problem.New(problem.Invalid, "checkout_refused", "the payment processor refused this checkout")
}

// unmade is what a caller reads when there is definitely no page.
func unmade(err error) error {
	return errors.Join(problem.New(problem.Unavailable, "processor_unavailable",
		"the payment processor can't be reached; no payment page was made and nothing is held: try again later"), err)
}

// unsure is what a caller reads when it isn't known whether there is a page: to try
// again would make a second one beside it.
func unsure(orderID string, err error) error {
	if !problem.Is(err, "processor_unavailable") {
		return err
	}
	return errors.Join(problem.New(problem.Unavailable, "processor_unavailable",
		"the payment processor can't be reached; the page of order %s may have been made all the same: look at the order before you try again",
		orderID), err)
}
