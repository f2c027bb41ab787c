package order

import (
	"slices"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
)

// States of a refund. A SUCCEEDED refund can still fail, when the buyer's bank
// returns the money. FAILED is final if the processor has the refund. A refund
// that the processor refused may turn out to exist after all.
const (
	refundPending   = "PENDING"
	refundSucceeded = "SUCCEEDED"
	refundFailed    = "FAILED"
)

// Where a refund was requested.
const (
	sourceAPI       = "api"
	sourceProcessor = "processor"
)

// maxRefunds is the maximum number of refunds of an order through the API,
// including failed ones and those made at the processor. Each is a row that every
// view of the order reads, and an entry in the processor's list, which is always
// read completely.
const maxRefunds = 100

// refundable is the amount in cents that a refund of a locked order gives back:
// the requested one, or all that is left. PENDING refunds count as given back. A
// repetition of a PENDING refund is a conflict.
func refundable(o db.Order, refunds []db.Refund, n NewRefund) (int64, error) {
	left, _ := paidAmount(o)
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
			return 0, problem.Conflicting("the refund %s of %d cents is PENDING and will be made as soon as possible; "+
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
		return 0, problem.Conflicting("nothing is left to refund: the refund %s is PENDING and will be made as soon as possible", pending)
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

// repeats reports whether a request may repeat that of a refund: the amount is the
// same, and no different Idempotency-Key says that it is a new one.
func repeats(r db.Refund, n NewRefund) bool {
	return n.AmountCents != nil && *n.AmountCents == r.AmountCents &&
		(n.Key == "" || r.IdempotencyKey != nil && *r.IdempotencyKey == n.Key)
}

// step is one refund's change according to the processor's answer.
type step struct {
	// row is our refund; nil for one that was made at the processor.
	row *db.Refund
	// refund is the processor's; zero for one that it refused.
	refund processor.Refund
	// status is the refund's new status.
	status string
	// cents is the change of the order's refunded amount.
	cents int64
	// reason is the processor's code for why the refund FAILED; it may be empty.
	reason string
}

// steps compares an order's refunds with the processor's list, newest first. A
// refund goes from pending to succeeded to failed and never back, so an old list
// changes nothing, and lists may come in any order. Failed refunds come first in
// the result, so that the sum never exceeds the paid amount.
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

// stepOf compares a refund of ours, nil for none, with the processor's.
func stepOf(row *db.Refund, r processor.Refund) (st step, changes bool) {
	st = step{row: row, refund: r}
	known := "" // also for a refund that was refused but exists: it starts again
	if row != nil && (row.Status != refundFailed || row.ProcessorRefundID != nil) {
		known = row.Status
	}
	switch r.Status {
	case processor.RefundFailed:
		st.status, st.reason = refundFailed, r.FailureReason
		if known == refundSucceeded {
			st.cents = -row.AmountCents
		}
		// A new failed refund is stored too, so that an older list can't revive it.
		return st, row == nil || known == refundPending || known == refundSucceeded
	case processor.RefundSucceeded:
		st.status, st.cents = refundSucceeded, r.AmountCents
		return st, known == "" || known == refundPending
	default:
		st.status = refundPending
		return st, known == "" || known == refundPending && row.ProcessorRefundID == nil
	}
}

// rowOf returns our refund that corresponds to the processor's; nil for none.
func rowOf(rows []db.Refund, r processor.Refund) *db.Refund {
	i := slices.IndexFunc(rows, func(row db.Refund) bool { return isRefund(row, r) })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// isRefund reports whether the processor's refund corresponds to this one of ours.
// The processor's id decides, because a seller can use an id of ours for a refund
// in the processor's dashboard.
func isRefund(row db.Refund, r processor.Refund) bool {
	if row.ProcessorRefundID != nil {
		return *row.ProcessorRefundID == r.ID
	}
	return row.ID == r.RefundID && row.AmountCents == r.AmountCents
}

// Limits of the pause between checks of a refund that is pending at the processor.
const (
	leastLook = time.Minute
	mostLook  = 6 * time.Hour
)

// nextLook is when the processor is asked again about a pending refund, in case
// its report is lost. The pauses grow, because some payment methods take days.
func nextLook(r db.Refund, now time.Time) time.Time {
	return now.Add(min(max(now.Sub(r.CreatedAt), leastLook), mostLook))
}

// sumRefunds is the sum of an order's SUCCEEDED refunds in cents.
func sumRefunds(refunds []db.Refund) (cents int64) {
	for _, r := range refunds {
		if r.Status == refundSucceeded {
			cents += r.AmountCents
		}
	}
	return cents
}

// withRefunded returns a paid order after refunds of cents in total. An order in
// REVIEW stays there until its whole payment is refunded.
func withRefunded(o db.Order, cents int64) db.Order {
	paid, _ := paidAmount(o)
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

// errRefundRefused explains to the seller why the processor refused a refund.
func errRefundRefused(code string) error {
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
