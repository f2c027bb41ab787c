package processor

import (
	"context"
	"time"

	"github.com/stripe/stripe-go/v76"
)

// States of a dispute. An inquiry is a question of the buyer's bank, which can
// become a chargeback; until then the seller keeps the money.
const (
	InquiryNeedsResponse = "WARNING_NEEDS_RESPONSE"
	InquiryUnderReview   = "WARNING_UNDER_REVIEW"
	InquiryClosed        = "WARNING_CLOSED"
	DisputeNeedsResponse = "NEEDS_RESPONSE"
	DisputeUnderReview   = "UNDER_REVIEW"
	DisputeWon           = "WON"
	DisputeLost          = "LOST"
)

// Dispute is a claim of a buyer's bank to get a payment back.
type Dispute struct {
	ID string
	// Status is one of the constants above.
	Status string
	// Reason is the processor's code, such as "fraudulent" or "product_not_received".
	Reason      string
	AmountCents int64
	// Currency is in lower case.
	Currency string
	// EvidenceDueAt is the seller's deadline to respond; nil if no response is
	// requested.
	EvidenceDueAt *time.Time
	OpenedAt      time.Time
}

// ListDisputes lists all disputes of a payment, newest first.
func (c *Client) ListDisputes(ctx context.Context, accountID, paymentIntentID string) ([]Dispute, error) {
	list := c.api.Disputes.List(&stripe.DisputeListParams{
		ListParams: listParams(ctx, accountID), PaymentIntent: new(paymentIntentID),
	})
	var disputes []Dispute
	for list.Next() {
		disputes = append(disputes, dispute(list.Dispute()))
	}
	if err := c.failed(ctx, "list disputes", list.Err(), list.DisputeList().Data != nil); err != nil {
		return nil, err // a partial list would look complete
	}
	return disputes, nil
}

func dispute(d *stripe.Dispute) Dispute {
	out := Dispute{
		ID: d.ID, Status: disputeStatus(d.Status), Reason: string(d.Reason), AmountCents: d.Amount, Currency: string(d.Currency),
		OpenedAt: time.Unix(d.Created, 0).UTC(),
	}
	if d.EvidenceDetails != nil && d.EvidenceDetails.DueBy > 0 {
		out.EvidenceDueAt = new(time.Unix(d.EvidenceDetails.DueBy, 0).UTC())
	}
	return out
}

// disputeStatus maps the processor's states. A state that this version of its API
// doesn't have counts as open, so that the dispute is neither won nor lost before
// the processor says so.
func disputeStatus(s stripe.DisputeStatus) string {
	switch s {
	case stripe.DisputeStatusWarningNeedsResponse:
		return InquiryNeedsResponse
	case stripe.DisputeStatusWarningUnderReview:
		return InquiryUnderReview
	case stripe.DisputeStatusWarningClosed:
		return InquiryClosed
	case stripe.DisputeStatusNeedsResponse:
		return DisputeNeedsResponse
	case stripe.DisputeStatusWon:
		return DisputeWon
	case stripe.DisputeStatusLost:
		return DisputeLost
	default:
		return DisputeUnderReview
	}
}
