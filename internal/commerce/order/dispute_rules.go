package order

import (
	"slices"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/outflow/event"
)

// disputeStep is the change of one dispute by the processor's answer.
type disputeStep struct {
	// row is the stored dispute; nil for a new one.
	row     *db.Dispute
	dispute processor.Dispute
	// events are the names of the events to emit, in order.
	events []string
}

// disputeStepOf compares a dispute of the processor's with the stored ones. The
// order gets an event when a dispute is opened, when it is reopened or an inquiry
// becomes a chargeback, and when it is closed. A new dispute that is closed
// already gets both events.
func disputeStepOf(rows []db.Dispute, d processor.Dispute) (st disputeStep, changes bool) {
	st = disputeStep{dispute: d}
	i := slices.IndexFunc(rows, func(row db.Dispute) bool { return row.ProcessorDisputeID == d.ID })
	if i < 0 {
		st.events = []string{event.PurchaseDisputed}
		if disputeClosed(d.Status) {
			st.events = append(st.events, event.PurchaseDisputeClosed)
		}
		return st, true
	}
	st.row = &rows[i]
	before := rows[i]
	switch {
	case disputeClosed(d.Status) && before.Status != d.Status:
		st.events = []string{event.PurchaseDisputeClosed}
	case !disputeClosed(d.Status) && (disputeClosed(before.Status) || inquiry(before.Status) && !inquiry(d.Status)):
		st.events = []string{event.PurchaseDisputed}
	}
	return st, before.Status != d.Status || before.AmountCents != d.AmountCents || before.Reason != d.Reason ||
		!sameTime(before.EvidenceDueAt, d.EvidenceDueAt)
}

// disputeClosed reports whether the dispute is decided.
func disputeClosed(status string) bool {
	return status == processor.DisputeWon || status == processor.DisputeLost || status == processor.InquiryClosed
}

// inquiry reports whether a dispute is an inquiry: the money was not taken back yet.
func inquiry(status string) bool {
	return status == processor.InquiryNeedsResponse || status == processor.InquiryUnderReview || status == processor.InquiryClosed
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
