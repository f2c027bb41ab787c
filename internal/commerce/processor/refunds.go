package processor

import (
	"context"

	"github.com/stripe/stripe-go/v76"
)

// CreateRefund makes a refund.
func (c *Client) CreateRefund(ctx context.Context, r NewRefund) (Refund, error) {
	asked := &stripe.RefundParams{
		Params:        params(ctx, r.AccountID, "refund-"+r.RefundID),
		PaymentIntent: new(r.PaymentIntentID), Amount: new(r.AmountCents),
		Metadata: map[string]string{metaRefund: r.RefundID, metaOrder: r.OrderID, metaTenant: r.TenantID},
	}
	if r.WithFee {
		asked.RefundApplicationFee = new(true)
	}
	made, err := c.api.Refunds.New(asked)
	if err := c.failed(ctx, "create refund", err, made.ID != ""); err != nil {
		return Refund{}, err
	}
	return refund(made), nil
}

// ListRefunds lists all refunds of a payment.
func (c *Client) ListRefunds(ctx context.Context, accountID, paymentIntentID string) ([]Refund, error) {
	list := c.api.Refunds.List(&stripe.RefundListParams{
		ListParams: listParams(ctx, accountID), PaymentIntent: new(paymentIntentID),
	})
	var refunds []Refund
	for list.Next() {
		refunds = append(refunds, refund(list.Refund()))
	}
	if err := c.failed(ctx, "list refunds", list.Err(), list.RefundList().Data != nil); err != nil {
		return nil, err // a partial list would look complete
	}
	return refunds, nil
}

func refund(r *stripe.Refund) Refund {
	out := Refund{ID: r.ID, RefundID: r.Metadata[metaRefund], AmountCents: r.Amount}
	switch r.Status {
	case stripe.RefundStatusSucceeded:
		out.Status = RefundSucceeded
	case stripe.RefundStatusFailed:
		out.Status, out.FailureReason = RefundFailed, string(r.FailureReason)
	case stripe.RefundStatusCanceled:
		out.Status, out.FailureReason = RefundFailed, "canceled"
	default: // also one for which the buyer must say where the money goes
		out.Status = RefundPending
	}
	return out
}
