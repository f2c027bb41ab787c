package order

import (
	"slices"

	"showfloor/gen/db"
	"showfloor/internal/problem"
	"showfloor/internal/processor"
)

// States of a refund. FAILED is the end of one that the processor knows; one that
// it never took may turn out to have been made after all.
const (
	refundPending   = "PENDING"
	refundSucceeded = "SUCCEEDED"
	refundFailed    = "FAILED"
)

// refundable is how much of a locked order a refund gives back: what was asked
// for, or all that is left when asked is nil. Refunds on their way count as given.
func refundable(o db.Order, refunds []db.Refund, asked *int64) (int64, error) {
	switch {
	case o.PaidAt == nil:
		return 0, problem.Conflicting("the order isn't paid")
	case o.TotalCents == 0:
		return 0, problem.Conflicting("the order cost nothing")
	case o.ProcessorAccountID == nil || o.PaymentIntentID == nil:
		return 0, problem.Conflicting("the payment processor took no payment for the order")
	}
	left := o.TotalCents
	for _, r := range refunds {
		if r.Status != refundFailed {
			left -= r.AmountCents
		}
	}
	switch {
	case left <= 0:
		return 0, problem.Conflicting("the order was refunded in full")
	case asked == nil:
		return left, nil
	case *asked > left:
		return 0, problem.New(problem.Invalid, "refund_too_large", "only %d cents are left to refund", left)
	default:
		return *asked, nil
	}
}

// step is what the processor's word changes about one refund.
type step struct {
	// row is ours; nil for a refund that was made at the processor.
	row *db.Refund
	// refund is the processor's.
	refund processor.Refund
	// status is what it becomes: refundSucceeded or refundFailed.
	status string
	// cents is by how much the order's refunded amount changes.
	cents int64
}

// steps compares an order's refunds with those that the processor lists, newest
// first. Money is given first and can come back later, never the other way round:
// so old lists do no harm, and lists may come in any order. What failed comes
// first, so that the sum never exceeds what was paid.
func steps(rows []db.Refund, reported []processor.Refund) []step {
	var failed, succeeded []step
	for _, r := range slices.Backward(reported) {
		row := rowOf(rows, r)
		given := row != nil && row.Status == refundSucceeded
		switch {
		case r.Status == processor.RefundFailed && given:
			failed = append(failed, step{row, r, refundFailed, -row.AmountCents})
		case r.Status == processor.RefundFailed && row != nil && row.Status == refundPending:
			failed = append(failed, step{row, r, refundFailed, 0})
		case r.Status == processor.RefundFailed || given:
		case row == nil:
			succeeded = append(succeeded, step{nil, r, refundSucceeded, r.AmountCents})
		case row.Status == refundPending || row.ProcessorRefundID == nil:
			succeeded = append(succeeded, step{row, r, refundSucceeded, row.AmountCents})
		}
	}
	return append(failed, succeeded...)
}

// rowOf is the refund of ours that the processor's is; nil for none. The processor's
// id decides: whoever refunds there can mark theirs with an id of ours.
func rowOf(rows []db.Refund, r processor.Refund) *db.Refund {
	i := slices.IndexFunc(rows, func(row db.Refund) bool {
		if row.ProcessorRefundID != nil {
			return *row.ProcessorRefundID == r.ID
		}
		return row.ID == r.RefundID && row.AmountCents == r.AmountCents
	})
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// refunded is a paid order after its refunded amount has changed by so much.
func refunded(o db.Order, cents int64) db.Order {
	o.RefundedCents = min(max(o.RefundedCents+cents, 0), o.TotalCents)
	switch {
	case o.RefundedCents == o.TotalCents:
		o.Status = Refunded
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
