package order

import (
	"slices"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/problem"
	"showfloor/internal/processor"
)

// States of a refund. SUCCEEDED ones can still fail, when the buyer's bank sends the
// money back. FAILED is final for a refund that the processor knows; one that it
// refused may turn out to have been made after all.
const (
	refundPending   = "PENDING"
	refundSucceeded = "SUCCEEDED"
	refundFailed    = "FAILED"
)

// Where a refund was asked for.
const (
	sourceAPI       = "api"
	sourceProcessor = "processor"
)

// maxRefunds is how many refunds of an order the API makes, those that failed and those made
// at the processor included. Each is a row that every view of the order reads, and an entry in
// the processor's list, which is read whole.
const maxRefunds = 100

// refundable is how much of a locked order a refund gives back: what was asked for,
// or all that is left. PENDING refunds count as given. One that repeats a PENDING
// refund is a conflict.
func refundable(o db.Order, refunds []db.Refund, n NewRefund) (int64, error) {
	left, _ := charged(o)
	switch {
	case o.PaidAt == nil && o.PaidCents == nil:
		return 0, problem.Conflicting("the order isn't paid")
	case left == 0:
		return 0, problem.Conflicting("the order cost nothing")
	case o.ProcessorAccountID == nil || o.PaymentIntentID == nil:
		return 0, problem.Conflicting("the payment processor took no payment for the order")
	}
	pending := ""
	for _, r := range slices.Backward(refunds) { // newest first
		if r.Status == refundPending && repeats(r, n) {
			return 0, problem.Conflicting("the refund %s of %d cents is PENDING and will be made as soon as it can be; "+
				"send another Idempotency-Key for a second refund of the same amount", r.ID, r.AmountCents)
		}
		if r.Status == refundPending && pending == "" {
			pending = r.ID
		}
		if r.Status != refundFailed {
			left -= r.AmountCents
		}
	}
	switch {
	case left <= 0 && pending != "":
		return 0, problem.Conflicting("nothing is left to refund: the refund %s is PENDING and will be made as soon as it can be", pending)
	case left <= 0:
		return 0, problem.Conflicting("the order was refunded in full")
	case len(refunds) >= maxRefunds:
		return 0, problem.Conflicting("the order has %d refunds, failed ones included, and may have %d; "+
			"make further ones in the payment processor's dashboard, from where the order takes them over", len(refunds), maxRefunds)
	case n.AmountCents == nil:
		return left, nil
	case *n.AmountCents > left:
		return 0, problem.New(problem.Invalid, "refund_too_large", "only %d cents are left to refund", left)
	default:
		return *n.AmountCents, nil
	}
}

// repeats tells whether a request may be a repetition of the one that a refund was
// made for: the same amount, and no Idempotency-Key that says otherwise.
func repeats(r db.Refund, n NewRefund) bool {
	return n.AmountCents != nil && *n.AmountCents == r.AmountCents &&
		(n.Key == "" || r.IdempotencyKey != nil && *r.IdempotencyKey == n.Key)
}

// step is what the processor's word changes about one refund.
type step struct {
	// row is ours; nil for a refund that was made at the processor.
	row *db.Refund
	// refund is the processor's; zero for one that it refused.
	refund processor.Refund
	// status is what the refund becomes.
	status string
	// cents is by how much the order's refunded amount changes.
	cents int64
	// reason is why it FAILED, as a code of the processor's; it may be empty.
	reason string
}

// steps compares an order's refunds with those that the processor lists, newest
// first. A refund goes from pending to succeeded to failed and never back, so old
// lists do no harm, and lists may come in any order. What failed comes first, so
// that the sum never exceeds what was paid.
func steps(rows []db.Refund, reported []processor.Refund) []step {
	var failed, others []step
	for _, r := range slices.Backward(reported) {
		st, changes := stepOf(rowOf(rows, r), r)
		switch {
		case !changes:
		case st.status == refundFailed:
			failed = append(failed, st)
		default:
			others = append(others, st)
		}
	}
	return append(failed, others...)
}

// stepOf compares one refund of ours, nil for none, with the processor's.
func stepOf(row *db.Refund, r processor.Refund) (st step, changes bool) {
	st = step{row: row, refund: r}
	known := "" // also for one that was refused: it is there all the same, and begins anew
	if row != nil && (row.Status != refundFailed || row.ProcessorRefundID != nil) {
		known = row.Status
	}
	switch r.Status {
	case processor.RefundFailed:
		st.status, st.reason = refundFailed, r.FailureReason
		if known == refundSucceeded {
			st.cents = -row.AmountCents
		}
		// One that is new is noted too, so that an older list doesn't revive it.
		return st, row == nil || known == refundPending || known == refundSucceeded
	case processor.RefundSucceeded:
		st.status, st.cents = refundSucceeded, r.AmountCents
		return st, known == "" || known == refundPending
	default:
		st.status = refundPending
		return st, known == "" || known == refundPending && row.ProcessorRefundID == nil
	}
}

// rowOf is the refund of ours that the processor's is; nil for none.
func rowOf(rows []db.Refund, r processor.Refund) *db.Refund {
	i := slices.IndexFunc(rows, func(row db.Refund) bool { return isRefund(row, r) })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// isRefund tells whether the processor's refund is this one of ours. The processor's
// id decides: a seller who refunds in the processor's dashboard can use an id of ours.
func isRefund(row db.Refund, r processor.Refund) bool {
	if row.ProcessorRefundID != nil {
		return *row.ProcessorRefundID == r.ID
	}
	return row.ID == r.RefundID && row.AmountCents == r.AmountCents
}

// The pauses between looks at a refund that is on its way at the processor.
const (
	leastLook = time.Minute
	mostLook  = 6 * time.Hour
)

// nextLook is when the processor is asked again about such a refund, should its
// report be lost: ever more seldom, since some means of payment take days.
func nextLook(r db.Refund, now time.Time) time.Time {
	return now.Add(min(max(now.Sub(r.CreatedAt), leastLook), mostLook))
}

// given is how much of an order its refunds have given back.
func given(refunds []db.Refund) (cents int64) {
	for _, r := range refunds {
		if r.Status == refundSucceeded {
			cents += r.AmountCents
		}
	}
	return cents
}

// refunded returns a paid order after refunds of cents in all. An order in REVIEW
// stays there until all of its payment is refunded.
func refunded(o db.Order, cents int64) db.Order {
	paid, _ := charged(o)
	o.RefundedCents = min(max(cents, 0), paid)
	switch {
	case o.RefundedCents == paid:
		o.Status = Refunded
	case o.PaidAt == nil:
		o.Status = Review
	case o.RefundedCents > 0:
		o.Status = PartiallyRefunded
	case o.FulfilledAt != nil:
		o.Status = Fulfilled
	default:
		o.Status = Paid
	}
	return o
}

// refusedRefund says why the processor doesn't give money back, in words for the
// seller.
func refusedRefund(code string) error {
	why := "the payment processor refused the refund; nothing was given back"
	switch code {
	case "charge_already_refunded":
		why = "the payment was refunded at the payment processor already"
	case "charge_disputed":
		why = "the buyer disputes the payment with their bank, so it can't be refunded"
	case "balance_insufficient", "insufficient_funds":
		why = "the seller's balance at the payment processor is too low for this refund"
	}
	return problem.Conflicting("%s", why)
}
